//! Where `spawn_local` spawns a task.

use super::probes::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::thread;
use wakeful::runtime::{Builder, LocalOptions, LocalRuntime};
use wakeful::task::{self, LocalEnterGuard, LocalSet, spawn_local};

/// Evaluates whether a type is `Send` or `Sync`. The inherent constant takes precedence where its
/// bound holds.
macro_rules! is {
    ($what:ident, $ty:ty) => {{
        #[allow(dead_code)]
        trait Otherwise {
            const YES: bool = false;
        }
        impl<T: ?Sized> Otherwise for T {}
        struct Ask<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code)]
        impl<T: ?Sized + $what> Ask<T> {
            const YES: bool = true;
        }
        <Ask<$ty>>::YES
    }};
}

#[test]
fn neither_a_set_nor_its_guard_is_send() {
    const { assert!(is!(Send, u8) && is!(Sync, u8)) };
    const { assert!(!is!(Send, LocalSet) && !is!(Sync, LocalSet)) };
    const { assert!(!is!(Send, LocalEnterGuard) && !is!(Sync, LocalEnterGuard)) };
    fn moves_in_place<T: Unpin>() {}
    moves_in_place::<LocalSet>();
    moves_in_place::<LocalEnterGuard>();
}

#[test]
fn a_task_need_not_be_send() {
    for runtime in [current_thread(), multi_thread()] {
        let text = Rc::new(RefCell::new(String::from("a")));
        let local = LocalSet::new();
        let for_future = text.clone();
        let joined: Rc<str> = local.block_on(&runtime, async move {
            let for_task = for_future.clone();
            let task = spawn_local(async move {
                for_task.borrow_mut().push('b');
                task::yield_now().await;
                for_task.borrow_mut().push('c');
                Rc::from("an output need not be either")
            });
            task.await.unwrap()
        });
        assert_eq!(&*joined, "an output need not be either");
        assert_eq!(*text.borrow(), "abc");
    }
}

#[test]
fn tasks_of_tasks_stay_on_the_thread() {
    let runtime = multi_thread();
    let here = thread::current().id();
    LocalSet::default().block_on(&runtime, async move {
        let task = spawn_local(async move {
            let inner = spawn_local(async move {
                task::yield_now().await;
                spawn_local(async move { thread::current().id() }).await.unwrap()
            });
            [thread::current().id(), inner.await.unwrap()]
        });
        assert_eq!(task.await.unwrap(), [here; 2]);
    });
}

#[test]
fn spawn_goes_to_the_runtime() {
    let runtime = multi_thread();
    let here = thread::current().id();
    LocalSet::new().block_on(&runtime, async move {
        let elsewhere = task::spawn(async { thread::current().id() });
        assert_ne!(elsewhere.await.unwrap(), here);
        let blocking = task::spawn_blocking(|| thread::current().id());
        assert_ne!(blocking.await.unwrap(), here);
    });
}

#[test]
fn a_spawned_task_waits_until_the_set_is_driven() {
    let local = LocalSet::new();
    let count = Count::default();
    for _ in 0..3 {
        let count = count.clone();
        local.spawn_local(async move { add_one(&count) });
    }
    assert_eq!(count.get(), 0);
    current_thread().block_on(local);
    assert_eq!(count.get(), 3);
}

#[test]
fn spawn_local_uses_the_set_of_a_guard() {
    let local = LocalSet::new();
    let guard = local.enter();
    assert_eq!(format!("{guard:?}"), "LocalEnterGuard");
    let join = spawn_local(async { true });
    assert!(local.block_on(&current_thread(), join).unwrap());
}

#[test]
fn a_guard_restores_the_previous_set() {
    let [first, second] = [LocalSet::new(), LocalSet::new()];
    let in_first = first.enter();
    let in_second = second.enter();
    let of_second = spawn_local(async {});
    drop(in_second);
    let of_first = spawn_local(async {});
    drop(in_first);
    assert!(panic_of(|| drop(spawn_local(async {}))).0.contains("outside"));

    let runtime = current_thread();
    runtime.block_on(first);
    assert!(of_first.is_finished() && !of_second.is_finished());
    runtime.block_on(second);
    assert!(of_second.is_finished());
}

#[test]
fn guards_may_be_dropped_in_any_order() {
    let [first, second] = [LocalSet::new(), LocalSet::new()];
    let in_first = first.enter();
    let in_second = second.enter();
    drop(in_first);
    drop(first);
    // Dropping this guard restores the first set. That set is already dropped and accepts no tasks.
    drop(in_second);
    let join = spawn_local(async {});
    assert!(join.is_finished());
    let error = current_thread().block_on(join).unwrap_err();
    assert!(error.is_cancelled());
}

#[test]
fn each_task_has_its_id() {
    let local = LocalSet::new();
    local.block_on(&current_thread(), async {
        assert_eq!(task::try_id(), None);
        let join = spawn_local(async {
            task::yield_now().await;
            task::id()
        });
        let id = join.id();
        assert_eq!(join.await.unwrap(), id);
        assert_eq!(task::try_id(), None);
    });
}

#[test]
fn a_set_has_an_id_like_a_runtime() {
    let runtime = current_thread();
    let ids = [LocalSet::new().id(), LocalSet::new().id(), runtime.handle().id()];
    assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2]);
    assert_eq!(format!("{:?}", LocalSet::new()), "LocalSet");
}

fn local_runtime() -> LocalRuntime {
    Builder::new_current_thread().build_local(LocalOptions::default()).unwrap()
}

#[test]
fn a_local_runtime_needs_no_set() {
    let runtime = local_runtime();
    let from_outside = {
        let _inside = runtime.enter();
        spawn_local(async { Rc::new(1) })
    };
    let sum = runtime.block_on(async {
        let from_future = spawn_local(async {
            task::yield_now().await;
            *spawn_local(async { Rc::new(2) }).await.unwrap()
        });
        *from_outside.await.unwrap() + from_future.await.unwrap()
    });
    assert_eq!(sum, 3);
}

#[test]
fn on_a_local_runtime_the_runtime_takes_the_task() {
    let runtime = local_runtime();
    let local = LocalSet::new();
    let go = Event::default();
    let (for_task, mut join) = (go.clone(), None);
    runtime.block_on(local.run_until(async {
        join = Some(spawn_local(async move { for_task.wait().await }));
    }));
    drop(local);
    go.set();
    runtime.block_on(join.unwrap()).expect("the task was not dropped with the set");
}
