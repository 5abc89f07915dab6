//! A problem file as KernelBench has it. With PyTorch it is judged; without, the error names the fix.

use crate::rig::{self, Ended, rooflab, seconds};
use model::{Judgement, Rule, Stage, Verdict};
use std::process::Command;

/// PyTorch alone takes seconds to import, and every process pair imports it twice.
const LIMIT: u64 = 400;

const PROBLEM: &str = "\
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.scale


def get_inputs():
    return [torch.randn(64, 256)]


def get_init_inputs():
    return [256, 1e-6]
";

const HONEST: &str = "\
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        norm = torch.einsum('ij,ij->i', x, x) / x.shape[1]
        return x * (torch.rsqrt(norm + self.eps)[:, None] * self.scale)
";

fn judge(candidate: &str) -> Ended {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let mut command = rooflab(["judge", "--json", "--cap", "1s"]);
    command.arg(write("1_norm.py", PROBLEM)).arg(write("candidate.py", candidate));
    rig::run(&mut command, seconds(LIMIT))
}

/// As the judge looks for it.
fn has_torch() -> bool {
    let named = std::env::var("ROOFLAB_PYTHON").ok();
    let programs = named.as_deref().map_or_else(|| vec!["python3", "/usr/bin/python3"], |program| vec![program]);
    let imports = |program: &str| Command::new(program).args(["-I", "-c", "import torch"]).output();
    programs.into_iter().any(|program| imports(program).is_ok_and(|output| output.status.success()))
}

#[test]
fn models_are_compared_or_the_fix_is_named() {
    let _alone = rig::alone();
    if !has_torch() {
        println!("skipped: no Python with PyTorch here (ROOFLAB_PYTHON names one); only the error is tested");
        let ended = judge(HONEST);
        ended.expect(4);
        let said = super::said(&ended);
        assert!(said.contains("no Python with torch") && said.contains("pip install torch"), "{ended}");
        return;
    }
    let check = |candidate: &str, is: &dyn Fn(&Verdict) -> bool| {
        let ended = judge(candidate);
        ended.expect(0);
        let judgement: Judgement = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}\n{ended}"));
        assert!(is(&judgement.verdict), "{}\n{candidate}", judgement.verdict);
    };
    check(HONEST, &Verdict::is_measured);
    let body = |text: &str| {
        format!("{}    def forward(self, x):\n        {text}\n", HONEST.split("    def forward").next().unwrap())
    };
    let wrong = |verdict: &Verdict| {
        matches!(
            verdict,
            Verdict::Failed { stage: Stage::Invalid, .. } | Verdict::Refused { rule: Rule::UnwrittenOutput, .. }
        )
    };
    // Its three hostile samples: freed memory, zeros, another stream (here: another thread).
    check(&body("return torch.empty_like(x)"), &wrong);
    check(&body("return torch.zeros_like(x)"), &wrong);
    let thread = body("import threading; threading.Thread(target=lambda: x * 2).start(); return torch.empty_like(x)");
    let system_call = |verdict: &Verdict| matches!(verdict, Verdict::Refused { rule: Rule::SystemCall, .. });
    check(&thread, &system_call);
    // Less precision than float32's tolerance allows.
    check(
        &body("return (x.bfloat16() * torch.rsqrt(x.pow(2).mean(-1, True) + self.eps) * self.scale).float()"),
        &wrong,
    );
}

#[test]
fn a_candidate_without_its_class_is_named() {
    let ended = judge("class Other: pass\n");
    ended.expect(2);
    assert!(super::said(&ended).contains("no `ModelNew`"), "{ended}");
}
