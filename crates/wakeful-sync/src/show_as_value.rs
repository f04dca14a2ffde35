//! `Debug` and `Display` of guards.

/// Implements `Debug` and `Display` for a guard by showing the value it guards.
macro_rules! show_as_value {
    ([$($generics:tt)*] $guard:ty, $value:ty) => {
        impl<$($generics)*> std::fmt::Debug for $guard
        where
            $value: std::fmt::Debug,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&**self, f)
            }
        }

        impl<$($generics)*> std::fmt::Display for $guard
        where
            $value: std::fmt::Display,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&**self, f)
            }
        }
    };
}
pub(crate) use show_as_value;
