//! Every kernel is valid WGSL and can be written as SPIR-V and as MSL, with its bindings where hosts expect them.

use dinrail_wgsl::{BINDINGS, Family, KERNELS, source, translate};

#[test]
fn every_kernel_translates() {
    for k in &KERNELS {
        let name = source::label(k);
        let words = translate::spirv(k);
        // Magic number and version 1.3.
        assert_eq!(words.get(..2), Some(&[0x0723_0203, 0x0001_0300][..]), "{name}");
        let text = translate::msl(k);
        assert_eq!(text.matches("kernel void main_(").count(), 1, "{name}");
        // Threads of a workgroup are what the host launches.
        let size = format!("max_total_threads_per_threadgroup({})", k.family.workgroup());
        assert!(text.contains(&size), "{name}");
        // Arguments and result; no binding that the host doesn't know; none without a place.
        assert!(text.contains("[[buffer(0)]]") && text.contains("[[buffer(1)]]"), "{name}");
        for number in text.split("[[buffer(").skip(1).filter_map(|s| s.split(')').next()) {
            let number: usize = number.parse().expect("a number");
            assert!(number <= BINDINGS || number == usize::from(translate::MSL_SIZES), "{name}");
        }
        assert!(!text.contains("fake"), "{name}");
        // Brackets that pair up: the text is whole.
        for (open, close) in [('{', '}'), ('(', ')'), ('[', ']')] {
            assert_eq!(text.matches(open).count(), text.matches(close).count(), "{name}");
        }
    }
    assert!(Family::ALL.iter().all(|f| KERNELS.iter().any(|k| k.family == *f)));
}
