//! What goes wrong in the field: each is an error with its numbers in it, and the device goes on. This program formats
//! text, which the others do without.
#![no_std]
#![no_main]

use core::fmt::Write;
use cortex_m_rt::entry;
use dinrail::Result;
use dinrail::cpu::Memory;
use dinrail::gguf::File;
use dinrail::hal::host::Heap;
use dinrail::hal::{Backend, Device};
use dinrail::registry::Registry;
use firmware_cortex_m::detector::{Detector, MODEL, plan, score};
use firmware_cortex_m::{exit, print};

struct Host;

impl Write for Host {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        print::write(text.as_bytes());
        Ok(())
    }
}

/// A backend without devices.
struct Named(&'static str);

impl Backend for Named {
    fn name(&self) -> &str {
        self.0
    }
    fn device_count(&self) -> usize {
        0
    }
    fn device(&'static self, _: usize) -> Option<&'static dyn Device> {
        None
    }
}

static BACKENDS: [Named; 3] = [Named("first"), Named("second"), Named("third")];
static TABLE: Registry<2> = Registry::new(&[]);

dinrail::bare::static_arena! {
    static HEAP: 1024;
}

#[repr(align(64))]
struct Ram([u8; plan::ARENA + 64]);

/// Binds the detector's table to some of the memory.
fn bind(arena: &mut [u8], model: &'static [u8]) -> Result<()> {
    plan::TABLE.bind([Memory::Write(arena), Memory::Read(model)]).map(|_| ())
}

fn show(what: &str, result: Result<()>) -> bool {
    match result {
        Ok(()) => {
            let _ = writeln!(Host, "{what}: no error");
            false
        }
        Err(e) => {
            let _ = writeln!(Host, "{what}: {e}");
            true
        }
    }
}

#[entry]
fn main() -> ! {
    let mut ram = Ram([0; _]);
    let ram = &mut ram.0;
    let mut good = show("arena one byte too small", bind(&mut ram[..plan::ARENA - 1], MODEL));
    good &= show("arena at an odd address", bind(&mut ram[1..], MODEL));
    good &= show("model cut off", bind(ram, &MODEL[..MODEL.len() / 2]));
    good &= show("model at an odd address", bind(ram, &MODEL[3..]));
    let arena = Memory::Read(&MODEL[..plan::ARENA]);
    let read_only = plan::TABLE.bind([arena, Memory::Read(MODEL)]).map(|_| ());
    good &= show("arena in flash", read_only);
    good &= show("heap too small", HEAP.alloc(1025, 64).map(|_| ()));
    good &= HEAP.alloc(1024, 64).is_ok();
    // A file may begin anywhere: its header is read byte by byte.
    let odd = &mut ram[1..1001];
    odd.copy_from_slice(&MODEL[..1000]);
    for (what, bytes) in [
        ("file cut off", &MODEL[..1000]),
        ("file cut off, at an odd address", &*odd),
        ("file of a big-endian machine", b"GGUF\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
    ] {
        match File::parse(bytes) {
            Ok(_) => good = false,
            Err(e) => {
                let _ = writeln!(Host, "{what}: {e}");
            }
        }
    }
    let mut registered = Ok(());
    for backend in &BACKENDS {
        registered = TABLE.register(backend).map(|_| ());
    }
    good &= show("registry with two slots", registered);
    good &= TABLE.backend_count() == 2;
    // And on.
    let on = Detector::new().and_then(|mut d| score(&mut d, 0));
    good &= matches!(on, Ok(mse) if mse > 11.0 && mse < 11.2);
    good &= show("the same memory twice", Detector::new().map(|_| ()));
    exit(good)
}
