//! Our code has nothing that ptxas was never seen to emit: no form, word, flag, part or guard.
//!
//! All of corpus and coverage set at two levels here; `orias-isa unseen` for more.

use orias_isa::{seen, sources};

#[test]
fn code_is_made_of_what_ptxas_was_seen_to_emit() {
    let target = orias_targets::target("sm_90a").expect("the target");
    let mut all = sources::corpus(target.name);
    all.extend(sources::one_instruction(target.name));
    let checked = seen::check(target, &all, &[0, 3]);
    assert!(checked.count > 100_000, "{} instructions", checked.count);
    assert!(checked.unseen.is_empty(), "{:#?}", checked.unseen);
    // What cannot be done with what was seen would be refused: nothing but textures and surfaces
    // is.
    let mut refused = checked.refused.keys();
    assert!(refused.all(|why| why.contains("no lowering")), "{:#?}", checked.refused);
}

#[test]
fn what_is_encodable_but_never_seen_is_found() {
    let target = orias_targets::target("sm_90a").expect("the target");
    let knobs = vec![(orias::driver::UNSEEN_FORMS.to_string(), "1".to_string())];
    let options = orias::driver::CompileOptions { opt_level: 3, knobs, ..Default::default() };
    let file = orias_runner::oracle::workspace().join("tests/corpus/vecadd/vecadd.ptx");
    let source = std::fs::read_to_string(file).expect("the corpus");
    let compiled = orias_isa::ours::compile(&source, &options).expect("it compiles");
    let mut found = seen::Unseen::new();
    let cubin = compiled.cubin.expect("a cubin");
    seen::unseen(target, "vecadd", &cubin, &mut found).expect("a cubin");
    assert!(
        found.keys().any(|what| what.contains("with operands") && what.contains(",c")),
        "{found:?}"
    );
}

/// A vote never negates its predicate; the product that adds by it may.
#[test]
fn a_product_of_a_warpgroup_may_add_by_a_negated_predicate() {
    let text = ".version 8.5\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p) {
        .reg .f32 %d<4>; .reg .b64 %x, %y, %q; .reg .pred %p;
        ld.param.u64 %q, [p]; ld.global.u64 %x, [%q]; ld.global.u64 %y, [%q+8];
        setp.ne.u64 %p, %x, 0;
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
            {%d0, %d1, %d2, %d3}, %x, %y, !%p, 1, 1, 0, 0;
        wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
        st.global.f32 [%q+32], %d0; ret; }";
    let target = orias_targets::target("sm_90a").expect("the target");
    let source = sources::Source { name: "negated".into(), text: text.into() };
    let checked = seen::check(target, &[source], &[0, 3]);
    assert!(checked.refused.is_empty(), "{:#?}", checked.refused);
    assert!(checked.count > 0 && checked.unseen.is_empty(), "{:#?}", checked.unseen);
}
