use super::*;
use crate::hal::{Buffer, Event};
use crate::testing::Toy;
use std::vec::Vec;

fn toy(name: &'static str, kind: DeviceKind) -> &'static Toy {
    Toy::leak(name, kind, &[])
}

#[test]
fn exactly_n_fit_and_one_more_changes_nothing() {
    let r = Registry::<3>::new(&[]);
    let toys = ["a", "b", "c", "d"].map(|n| toy(n, DeviceKind::Cpu));
    let handles: Vec<Handle> = toys[..3].iter().map(|t| r.register(*t).unwrap()).collect();
    let before: Vec<_> = r.backends().map(|(h, b)| (h, b.name())).collect();
    assert_eq!(r.register(toys[3]), Err(Error::Full { what: What::Backends, need: 4, have: 3 }));
    assert_eq!(r.backends().map(|(h, b)| (h, b.name())).collect::<Vec<_>>(), before);
    // The same one again is a defined result also in a full table.
    assert_eq!(r.register(toys[1]), Ok(handles[1]));
    let none = Registry::<0>::new(&[]);
    assert_eq!(none.register(toys[0]), Err(Error::Full { what: What::Backends, need: 1, have: 0 }));
    assert_eq!(none.backend_count(), 0);
}

#[test]
fn names_are_unique_without_case() {
    let r = Registry::<4>::new(&[]);
    let (a, b) = (toy("Vulkan", DeviceKind::Gpu), toy("vulkan", DeviceKind::Gpu));
    r.register(a).unwrap();
    assert_eq!(r.register(b), Err(Error::NameTaken));
    assert!(core::ptr::addr_eq(r.backend_by_name("VULKAN").unwrap().1, a as &dyn Backend));
    assert_eq!(r.backend_count(), 1);
}

#[test]
fn a_failed_device_is_passed_over() {
    let r = Registry::<2>::new(&[]);
    r.register(toy("one", DeviceKind::Gpu)).unwrap();
    // The toy counts two devices and gives one.
    assert_eq!(r.device_count(), 1);
    assert!(r.device_by_name("one").is_some());
    assert!(r.device_by_kind(DeviceKind::Accelerator).is_none());
}

#[test]
fn best_is_gpu_then_integrated_then_cpu() {
    let r = Registry::<4>::new(&[]);
    assert!(r.best_device().is_none());
    assert!(matches!(r.open_best(&Params::default()), Err(Error::NotFound)));
    r.register(toy("accel", DeviceKind::Accelerator)).unwrap();
    assert!(r.best_device().is_none());
    r.register(toy("cpu", DeviceKind::Cpu)).unwrap();
    assert_eq!(r.best_device().unwrap().name(), "cpu");
    r.register(toy("igpu", DeviceKind::IntegratedGpu)).unwrap();
    assert_eq!(r.best_device().unwrap().name(), "igpu");
    r.register(toy("gpu", DeviceKind::Gpu)).unwrap();
    assert_eq!(r.best_device().unwrap().name(), "gpu");
}

#[test]
fn one_piece_of_hardware_behind_two_backends_is_known_as_one() {
    let r = Registry::<6>::new(&[]);
    let card = |name, id| Toy::with(name, DeviceKind::Gpu, &[], |t| t.id = id);
    let vulkan = card("Vulkan0", Some("0000:01:00.0"));
    let cuda = card("CUDA0", Some("0000:01:00.0"));
    let other = card("CUDA1", Some("0000:02:00.0"));
    let short = card("SYCL0", Some("02:00.0"));
    let (one, two) = (card("A", None), card("B", Some("")));
    for t in [vulkan, cuda, other, short, one, two] {
        r.register(t).unwrap();
    }
    let twin = |t: &'static Toy| r.twin_of(t).map(Device::name);
    assert_eq!(twin(cuda), Some("Vulkan0"));
    assert_eq!(twin(short), Some("CUDA1"));
    assert_eq!([vulkan, other, one, two].map(twin), [None; 4], "no id is no twin");
    let names: Vec<_> = r.distinct_devices().map(Device::name).collect();
    assert_eq!(names, ["Vulkan0", "CUDA1", "A", "B"]);
    // Both can be asked for by name.
    assert_eq!(r.device_by_name("cuda0").map(Device::name), Some("CUDA0"));
    assert!(!same_hardware("0000:01:00.0", "0001:01:00.0"));
}

#[test]
fn a_processor_that_plays_another_device_is_not_the_best() {
    let r = Registry::<4>::new(&[]);
    // Of the kind CPU, but with memory that the host can't reach: a graphics driver in software.
    let software = toy("Vulkan0", DeviceKind::Cpu);
    r.register(software).unwrap();
    assert_eq!(r.best_device().unwrap().name(), "Vulkan0");
    let cpu = Toy::with("CPU", DeviceKind::Cpu, &[], |t| t.host = true);
    r.register(cpu).unwrap();
    assert_eq!(r.best_device().unwrap().name(), "CPU");
    assert_eq!(r.device_by_kind(DeviceKind::Cpu).unwrap().name(), "CPU");
}

#[test]
fn a_driver_without_hardware_is_started_only_where_nothing_else_is() {
    let r = Registry::<4>::new(&[]);
    let asked = |t: &Toy| t.asked.load(core::sync::atomic::Ordering::SeqCst);
    let software = Toy::with("Vulkan0", DeviceKind::Cpu, &[], |t| t.expects = false);
    let gpu = Toy::with("GPU", DeviceKind::Gpu, &[], |t| t.expects = false);
    let cpu = Toy::with("CPU", DeviceKind::Cpu, &[], |t| t.host = true);
    r.register(software).unwrap();
    r.register(gpu).unwrap();
    r.register(cpu).unwrap();
    assert_eq!(r.best_device().unwrap().name(), "CPU");
    assert_eq!(r.device_by_kind(DeviceKind::Cpu).unwrap().name(), "CPU");
    assert_eq!((asked(software), asked(gpu)), (0, 0));
    // Asked for, it is looked for, whatever was expected.
    assert_eq!(r.device_by_kind(DeviceKind::Gpu).unwrap().name(), "GPU");
    assert_eq!(r.device_by_name("vulkan0").unwrap().name(), "Vulkan0");
    // Something is better than nothing.
    let alone = Registry::<1>::new(&[]);
    alone.register(software).unwrap();
    assert_eq!(alone.best_device().unwrap().name(), "Vulkan0");
    assert_eq!(alone.device_by_kind(DeviceKind::Cpu).unwrap().name(), "Vulkan0");
}

#[test]
fn a_name_is_looked_for_without_starting_other_drivers() {
    let r = Registry::<4>::new(&[]);
    let (gpu, cpu) = (toy("Vulkan", DeviceKind::Gpu), toy("CPU", DeviceKind::Cpu));
    r.register(gpu).unwrap();
    r.register(cpu).unwrap();
    assert_eq!(r.device_by_name("cpu").unwrap().name(), "CPU");
    assert_eq!(gpu.asked.load(core::sync::atomic::Ordering::SeqCst), 0);
    assert!(r.device_by_name("toaster").is_none());
    assert!(r.device_by_name("").is_none());
}

#[test]
fn unloading_counts_what_is_alive_and_old_handles_are_stale() {
    let r = Registry::<2>::new(&[]);
    let t = toy("gpu", DeviceKind::Gpu);
    let h = r.register(t).unwrap();
    let stream = r.open_by_name("GPU", &Params::default()).unwrap();
    let buffer = Buffer::new(t.buffer_type(), 16).unwrap();
    let event = Event::new(t).unwrap();
    assert_eq!(r.unregister(h), Err(Error::InUse { streams: 1, buffers: 1, events: 1 }));
    drop((stream, buffer));
    assert_eq!(r.unregister(h), Err(Error::InUse { streams: 0, buffers: 0, events: 1 }));
    drop(event);
    assert_eq!(r.unregister(h), Ok(()));
    assert_eq!(r.unregister(h), Err(Error::Stale));
    assert!(matches!(r.backend(h), Err(Error::Stale)));
    assert!(r.best_device().is_none());
    let again = r.register(t).unwrap();
    assert_ne!(again, h);
    assert!(r.backend(again).is_ok());
    assert!(matches!(r.backend(h), Err(Error::Stale)));
    // A thousand rounds use one slot.
    let mut h = again;
    for _ in 0..1000 {
        r.unregister(h).unwrap();
        h = r.register(t).unwrap();
    }
    assert_eq!(h.index(), again.index());
}

#[test]
fn built_in_backends_stay() {
    static EMPTY: Registry<1> = Registry::new(&[]);
    let t = toy("cpu", DeviceKind::Cpu);
    let list: &'static [&'static dyn Backend] = std::vec![t as &'static dyn Backend].leak();
    let r = Registry::<1>::new(list);
    let (h, _) = r.backend_by_name("cpu").unwrap();
    assert_eq!(r.unregister(h), Err(Error::BuiltIn));
    assert_eq!(r.register(t), Ok(h));
    assert_eq!(EMPTY.device_count(), 0);
}

#[test]
fn one_registered_over_a_built_in_stands_in_its_place() {
    let built_in: &'static [&'static dyn Backend] =
        std::vec![toy("cpu", DeviceKind::Cpu) as _, toy("slow", DeviceKind::Cpu) as _].leak();
    let r = Registry::<3>::new(built_in);
    let (mine, other) = (toy("CPU", DeviceKind::Cpu), toy("Cpu", DeviceKind::Cpu));
    assert_eq!(r.register(mine), Err(Error::NameTaken));
    let (old, _) = r.backend_by_name("cpu").unwrap();
    let handle = r.register_over(mine).unwrap();
    assert_eq!(r.register_over(mine), Ok(handle));
    assert_eq!(r.register(mine), Ok(handle));
    assert_eq!(r.register_over(other), Err(Error::NameTaken));
    let names = || r.backends().map(|(_, b)| b.name()).collect::<Vec<_>>();
    assert_eq!(names(), ["CPU", "slow"]);
    assert_eq!(r.best_device().unwrap().name(), "CPU");
    assert_eq!(r.backend_by_name("cpu").unwrap().0, handle);
    assert_eq!(r.device_count(), 2);
    // The one behind is still there for those who hold it.
    assert_eq!(r.backend(old).unwrap().name(), "cpu");
    assert_eq!(r.register(built_in[0]), Ok(old));
    r.unregister(handle).unwrap();
    assert_eq!(names(), ["cpu", "slow"]);
    assert_eq!(r.backend_by_name("CPU").unwrap().0, old);
}

#[test]
fn look_ups_go_on_while_others_register() {
    static R: Registry<64> = Registry::new(&[]);
    let done = core::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            while !done.load(core::sync::atomic::Ordering::Acquire) {
                for (h, b) in R.backends() {
                    assert!(R.backend(h).is_ok() && b.name().len() > 2);
                }
            }
        });
        let names: Vec<&'static str> = (0..64).map(|i| &*std::format!("toy{i}").leak()).collect();
        for n in names {
            R.register(toy(n, DeviceKind::Cpu)).unwrap();
        }
        done.store(true, core::sync::atomic::Ordering::Release);
    });
    assert_eq!(R.backend_count(), 64);
}
