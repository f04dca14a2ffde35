//! Bytes to be written by somebody who cannot borrow them, without copying those that are owned.

use std::any::TypeId;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

/// Bytes of one's own.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OwnedBytes {
    Vec(Vec<u8>),
    #[cfg(feature = "io-util")]
    Bytes(bytes::Bytes),
}

impl OwnedBytes {
    /// Takes over what is known to own its bytes, and copies from all else.
    pub(super) fn of<B: AsRef<[u8]>>(source: B) -> OwnedBytes {
        let source = match cast::<B, Vec<u8>>(source) {
            Ok(bytes) => return OwnedBytes::Vec(bytes),
            Err(source) => source,
        };
        let source = match cast::<B, String>(source) {
            Ok(text) => return OwnedBytes::Vec(text.into_bytes()),
            Err(source) => source,
        };
        #[cfg(feature = "io-util")]
        let source = match cast::<B, bytes::Bytes>(source) {
            Ok(bytes) => return OwnedBytes::Bytes(bytes),
            Err(source) => source,
        };
        OwnedBytes::Vec(source.as_ref().to_vec())
    }
}

impl AsRef<[u8]> for OwnedBytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            OwnedBytes::Vec(bytes) => bytes,
            #[cfg(feature = "io-util")]
            OwnedBytes::Bytes(bytes) => bytes,
        }
    }
}

/// `value` as an `Owned` if that is what it is.
fn cast<T, Owned: 'static>(value: T) -> Result<Owned, T> {
    if type_id_of::<T>() != TypeId::of::<Owned>() {
        return Err(value);
    }
    let value = ManuallyDrop::new(value);
    // SAFETY: it is the same type, but for lifetimes that `T` might have in it; those that we ask for
    // have none. The value is not used again.
    Ok(unsafe { std::mem::transmute_copy::<ManuallyDrop<T>, Owned>(&value) })
}

/// As [`TypeId::of`], for a type that may borrow: with all its lifetimes taken for `'static`.
fn type_id_of<T>() -> TypeId {
    trait Named {
        fn type_id(&self) -> TypeId
        where
            Self: 'static;
    }

    impl<T> Named for PhantomData<T> {
        fn type_id(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<T>()
        }
    }

    let borrowing: &dyn Named = &PhantomData::<T>;
    // SAFETY: only the bound on the lifetime changes. The method uses it to get at a number; there is
    // no value of `T` that could be taken for one that lives longer.
    let named = unsafe { std::mem::transmute::<&dyn Named, &(dyn Named + 'static)>(borrowing) };
    named.type_id()
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
