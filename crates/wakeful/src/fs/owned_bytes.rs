//! The bytes of a write that runs on another thread, which must therefore own them. Owned buffers
//! are moved, not copied.

use std::any::TypeId;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

/// An owned buffer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OwnedBytes {
    Vec(Vec<u8>),
    #[cfg(feature = "io-util")]
    Bytes(bytes::Bytes),
}

impl OwnedBytes {
    /// Moves a `Vec<u8>`, `String` or `Bytes`; copies from any other type.
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

/// Returns `value` as an `Owned` if `T` is that type.
fn cast<T, Owned: 'static>(value: T) -> Result<Owned, T> {
    if type_id_of::<T>() != TypeId::of::<Owned>() {
        return Err(value);
    }
    let value = ManuallyDrop::new(value);
    // SAFETY: the type ids are equal, so `T` and `Owned` are the same type up to lifetimes. `Owned`
    // is one of three types without lifetime parameters, so they are the same type. The copy takes
    // over the ownership, because the original is in a `ManuallyDrop` and not used again.
    Ok(unsafe { std::mem::transmute_copy::<ManuallyDrop<T>, Owned>(&value) })
}

/// Returns the [`TypeId`] of a type that may contain lifetimes, with all of these replaced by
/// `'static`.
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
    // SAFETY: the transmute changes only the lifetime bound of the trait object. The method uses
    // the bound only to call `TypeId::of`, and `PhantomData` holds no value of `T` that could be
    // used after its lifetime.
    let named = unsafe { std::mem::transmute::<&dyn Named, &(dyn Named + 'static)>(borrowing) };
    named.type_id()
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
