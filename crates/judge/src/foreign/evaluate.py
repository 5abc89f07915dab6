# Runs somebody's own evaluator on one program and writes its metrics where the judge looks.
# Arguments: KIND FOLDER EVALUATOR PROGRAM RESULT.
import importlib.util, json, os, sys

kind, folder, evaluator, program, result = sys.argv[1:]
sys.path.insert(0, folder)
spec = importlib.util.spec_from_file_location("evaluator", os.path.join(folder, evaluator))
module = importlib.util.module_from_spec(spec)
sys.modules["evaluator"] = module
spec.loader.exec_module(module)
if kind == "returns":
    metrics = module.evaluate(program)
    metrics = getattr(metrics, "metrics", metrics)
else:
    results = os.path.join(os.path.dirname(result), "results")
    os.makedirs(results, exist_ok=True)
    module.main(program, results)
    with open(os.path.join(results, "metrics.json")) as file:
        metrics = json.load(file)
    correct = os.path.join(results, "correct.json")
    if os.path.exists(correct):
        with open(correct) as file:
            verdict = json.load(file)
        if not verdict.get("correct", True):
            raise SystemExit("the evaluator calls it incorrect: " + str(verdict.get("error")))


def number(value):
    # Evaluators return texts and arrays beside their scores.
    try:
        return None if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError):
        return None


numbers = {str(name): number(value) for name, value in metrics.items()}
numbers = {name: value for name, value in numbers.items() if value is not None}
with open(result + ".part", "w") as file:
    # NaN and infinities as Python writes them would be no JSON.
    json.dump({k: v if v - v == 0 else None for k, v in numbers.items()}, file)
os.rename(result + ".part", result)
