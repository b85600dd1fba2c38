//! The table of backends, with real backends that compute nothing.

use dinrail::Error;
use dinrail::error::What;
use dinrail::hal::{Backend, Buffer, Device, DeviceKind, Event, Live, Params};
use dinrail::registry::Registry;
use dinrail_null::Config;
use std::sync::atomic::{AtomicBool, Ordering};

type Null = dinrail_null::Backend;

const fn null(name: &'static str) -> Null {
    Null::new(Config { name, ..Config::DEFAULT })
}

fn names<const N: usize>(registry: &Registry<N>) -> Vec<&str> {
    registry.backends().map(|(_, b)| b.name()).collect()
}

/// Two devices, of which the second could not be started.
struct Half {
    good: Null,
}

impl Backend for Half {
    fn name(&self) -> &str {
        "Half"
    }

    fn device_count(&self) -> usize {
        2
    }

    fn device(&'static self, i: usize) -> Option<&'static dyn Device> {
        self.good.device(i)
    }
}

fn exactly_n_fit<const N: usize>() {
    static BUILT_IN: Null = null("built-in");
    static TABLE: &[&'static dyn Backend] = &[&BUILT_IN];
    let registry = Registry::<N>::new(TABLE);
    assert_eq!(registry.capacity(), N);
    let mut expected = vec!["built-in"];
    for i in 0..N {
        let name: &'static str = format!("backend {i}").leak();
        let handle = registry.register(Box::leak(Box::new(null(name)))).unwrap();
        assert_eq!(handle.index(), 1 + i);
        expected.push(name);
    }
    let one_more = Box::leak(Box::new(null("one more")));
    for _ in 0..2 {
        assert!(matches!(
            registry.register(one_more),
            Err(Error::Full { what: What::Backends, have, .. }) if have == N
        ));
        assert_eq!(names(&registry), expected);
        assert_eq!(registry.device_count(), N + 1);
        assert!(registry.backend_by_name("one more").is_none());
    }
    // Full or not, who is there already gets the handle that it has.
    assert_eq!(registry.register(&BUILT_IN).map(|h| h.index()), Ok(0));
}

#[test]
fn capacity_is_exact() {
    exactly_n_fit::<0>();
    exactly_n_fit::<1>();
    exactly_n_fit::<2>();
    exactly_n_fit::<33>();
}

#[test]
fn twice_the_same_and_another_of_the_same_name() {
    static A: Null = null("Alpha");
    static B: Null = null("ALPHA");
    static REGISTRY: Registry<4> = Registry::new(&[]);
    let handle = REGISTRY.register(&A).unwrap();
    assert_eq!(REGISTRY.register(&A), Ok(handle));
    assert_eq!(REGISTRY.register(&B), Err(Error::NameTaken));
    assert_eq!(names(&REGISTRY), ["Alpha"]);
    assert_eq!(REGISTRY.device_count(), 1);
    assert_eq!(REGISTRY.backend_by_name("aLPHA").map(|(h, _)| h), Some(handle));
    assert!(REGISTRY.device_by_name("alpha").is_some());
    // A single device obeys the same rules, among devices.
    let device = B.device(0).unwrap();
    assert_eq!(REGISTRY.register_device(device), Err(Error::NameTaken));
}

#[test]
fn a_device_that_can_not_be_had_is_passed_over() {
    static HALF: Half = Half { good: null("good") };
    static TABLE: &[&'static dyn Backend] = &[&HALF];
    static REGISTRY: Registry<1> = Registry::new(TABLE);
    assert_eq!(REGISTRY.backend_count(), 1);
    assert_eq!(REGISTRY.device_count(), 1);
    assert!(REGISTRY.device_by_name("good").is_some());
    assert!(REGISTRY.device_by_kind(DeviceKind::Accelerator).is_some());
    assert!(REGISTRY.best_device().is_none());
    assert_eq!(REGISTRY.open_best(&Params::default()).err(), Some(Error::NotFound));
    assert!(REGISTRY.open_by_name("good", &Params::default()).is_ok());
}

#[test]
fn unregistering_counts_what_is_alive_and_makes_handles_stale() {
    static LIVE: Live = Live::new();
    static NULL: Null = Null::new(Config { name: "loaded", live: Some(&LIVE), ..Config::DEFAULT });
    static FIXED: Null = null("fixed");
    static TABLE: &[&'static dyn Backend] = &[&FIXED];
    static REGISTRY: Registry<1> = Registry::new(TABLE);

    let (fixed, _) = REGISTRY.backend_by_name("fixed").unwrap();
    assert_eq!(REGISTRY.unregister(fixed), Err(Error::BuiltIn));

    let old = REGISTRY.register(&NULL).unwrap();
    let device = REGISTRY.device_by_name("loaded").unwrap();
    let stream = device.open(&Params::default()).unwrap();
    let buffers = [1, 2].map(|size| Buffer::new(device.buffer_type(), size).unwrap());
    let event = Event::new(device).unwrap();
    let e = REGISTRY.unregister(old).unwrap_err();
    assert_eq!(e, Error::InUse { streams: 1, buffers: 2, events: 1 });
    assert_eq!(e.to_string(), "still in use: 1 streams, 2 buffers, 1 events; drop them first");
    assert!(REGISTRY.backend(old).is_ok());
    drop((stream, buffers));
    assert_eq!(REGISTRY.unregister(old), Err(Error::InUse { streams: 0, buffers: 0, events: 1 }));
    drop(event);
    assert_eq!(REGISTRY.unregister(old), Ok(()));
    assert_eq!(names(&REGISTRY), ["fixed"]);
    assert!(REGISTRY.device_by_name("loaded").is_none());

    for _ in 0..2 {
        assert_eq!(REGISTRY.backend(old).err(), Some(Error::Stale));
        assert_eq!(REGISTRY.unregister(old), Err(Error::Stale));
    }
    // The same backend again: a new handle, and the old one stays what it is.
    let new = REGISTRY.register(&NULL).unwrap();
    assert_ne!(new, old);
    assert_eq!(new.index(), old.index());
    assert_eq!(REGISTRY.backend(old).err(), Some(Error::Stale));
    assert!(REGISTRY.backend(new).is_ok());
    assert_eq!(REGISTRY.unregister(old), Err(Error::Stale));
    assert_eq!(names(&REGISTRY), ["fixed", "loaded"]);
}

/// Look-ups on one thread while others register and unregister: they see whole entries, in the table's order.
#[test]
fn looking_up_while_registering() {
    const N: usize = 64;
    static REGISTRY: Registry<N> = Registry::new(&[]);
    let all: Vec<&'static Null> =
        (0..N).map(|i| &*Box::leak(Box::new(null(format!("backend {i}").leak())))).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|s| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                s.spawn(|| {
                    let mut most = 0;
                    while !done.load(Ordering::Acquire) {
                        let mut count = 0;
                        for (handle, backend) in REGISTRY.backends() {
                            assert!(backend.name().starts_with("backend "));
                            // Gone meanwhile, or there: never another one.
                            match REGISTRY.backend(handle) {
                                Ok(b) => assert_eq!(b.name(), backend.name()),
                                Err(e) => assert_eq!(e, Error::Stale),
                            }
                            count += 1;
                        }
                        assert!(count <= N);
                        most = most.max(count);
                        std::hint::black_box(REGISTRY.device_by_name("backend 7"));
                    }
                    most
                })
            })
            .collect();
        let writers: Vec<_> = (0..2)
            .map(|half| {
                let all = &all;
                s.spawn(move || {
                    // Turned away while the other one is inside: come again.
                    let again = |f: &dyn Fn() -> Result<(), Error>| loop {
                        match f() {
                            Err(Error::Busy) => std::hint::spin_loop(),
                            result => return result.unwrap(),
                        }
                    };
                    for i in (half..N).step_by(2) {
                        again(&|| REGISTRY.register(all[i]).map(|_| ()));
                        for _ in 0..3 {
                            let (handle, _) = REGISTRY.backend_by_name(all[i].name()).unwrap();
                            again(&|| REGISTRY.unregister(handle));
                            again(&|| REGISTRY.register(all[i]).map(|_| ()));
                        }
                    }
                })
            })
            .collect();
        for w in writers {
            w.join().unwrap();
        }
        done.store(true, Ordering::Release);
        for r in readers {
            assert!(r.join().unwrap() <= N);
        }
    });
    assert_eq!(REGISTRY.backend_count(), N);
    let mut found = names(&REGISTRY);
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), N);
}
