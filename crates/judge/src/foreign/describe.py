# Says what a problem's own functions return: one run of the reference, in a process that times nothing.
# Arguments: PROBLEM RESULT.
import importlib.util, json, os, sys

import torch

path, result = sys.argv[1:]
spec = importlib.util.spec_from_file_location("problem", path)
problem = importlib.util.module_from_spec(spec)
sys.modules["problem"] = problem
spec.loader.exec_module(problem)


def said(value):
    if isinstance(value, torch.Tensor):
        return {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape)}
    return {"value": value}


init = list(problem.get_init_inputs())
inputs = list(problem.get_inputs())
with torch.no_grad():
    outputs = problem.Model(*init)(*inputs)
outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
text = json.dumps({"init": init, "inputs": [said(v) for v in inputs], "outputs": [said(v) for v in outputs]})
with open(result + ".part", "w") as file:
    file.write(text)
os.rename(result + ".part", result)
