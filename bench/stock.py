"""Programs under `hf_static` in the stock ExecuTorch runtime: fetches the wheel, builds bench/stock, drives prefill and decode as the contract says."""
import array
import json
import pathlib
import subprocess
import sys
import zipfile

from command import PTERON, max_difference, read_tensors
from measure import run, run_json

HERE = pathlib.Path(__file__).resolve().parent
ELEMENT = {"float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "bool": 1}
LOWEST = -3.4028234663852886e38


class StockRunner:
    def __init__(self, path, cache):
        self.path = pathlib.Path(path) if path else self.build(pathlib.Path(cache))

    @staticmethod
    def build(cache):
        wheel, built = cache / "executorch", cache / "stock_runner"
        if not (wheel / "executorch/lib/libexecutorch.so").exists():
            download = cache / "wheels"
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "--python-version", "3.11", "--dest", download,
                            "executorch==1.5.1"], check=True)
            with zipfile.ZipFile(next(download.glob("executorch-*.whl"))) as archive:
                archive.extractall(wheel, [n for n in archive.namelist() if n.startswith(("executorch/lib/", "executorch/include/"))])
        run(["cmake", "-S", HERE / "stock", "-B", built, "-DCMAKE_BUILD_TYPE=Release", f"-DEXECUTORCH_WHEEL={wheel}"])
        run(["cmake", "--build", built])
        return built / "stock_runner"

    @staticmethod
    def call(contract, method, tokens, position, folder, plan):
        """Lines that set the inputs of one call (chapters 5 to 7 of the contract; additive float32 masks)."""
        rows = method["rows"]
        for index, entry in enumerate(method["inputs"]):
            role, shape, name = entry["role"], entry["shape"], f"{method['name']}_{entry['index']}"
            size = ELEMENT[entry["dtype"]]
            for extent in shape:
                size *= extent
            if role in ("key_cache", "value_cache"):
                plan.append(f"buffer {role}_{entry['layer']} {size}")
                plan.append(f"input {method['name']} {entry['index']} {role}_{entry['layer']} {entry['dtype']} {','.join(map(str, shape))}")
                continue
            code = {"int64": "q", "int32": "i", "float32": "f"}[entry["dtype"]]
            if role == "token_ids":
                values = tokens + [contract["pad_token"]] * (rows - len(tokens))
            elif role == "position_ids":
                values = list(range(position, position + rows))
            elif role == "last_row":
                values = [len(tokens) - 1]
            else:
                slots = shape[-1]
                values = [0.0 if slot <= position + row else LOWEST for row in range(rows) for slot in range(slots)]
            raw = folder / f"{name}.bin"
            raw.write_bytes(array.array(code, values).tobytes())
            plan.append(f"buffer {name} {size} {raw}")
            plan.append(f"input {method['name']} {entry['index']} {name} {entry['dtype']} {','.join(map(str, shape)) or '1'}")

    def compare(self, program, ids, folder):
        """Prefill of all ids but the last, then decode of the last: the largest difference of both logits from ours."""
        contract = run_json([PTERON, "inspect", program, "--json"])["contract"]
        methods = {m["role"]: m for m in contract["methods"]}
        worst = 0.0
        plan, out = [], folder / "stock.bin"
        for role, tokens, position in (("prefill", ids[:-1], 0), ("decode", ids[-1:], len(ids) - 1)):
            method = methods[role]
            self.call(contract, method, tokens, position, folder, plan)
            logits = next(o for o in method["outputs"] if o["role"] == "logits")
            size = ELEMENT[logits["dtype"]]
            for extent in logits["shape"]:
                size *= extent
            plan.append(f"buffer {method['name']}_logits {size}")
            plan.append(f"output {method['name']} {logits['index']} {method['name']}_logits {logits['dtype']} {','.join(map(str, logits['shape']))}")
            plan.append(f"run {method['name']}")
            plan.append(f"save {method['name']} {logits['index']} {out}.{role}")
        run([self.path, program], input="\n".join(plan))
        for role, tokens in (("prefill", ids[:-1]), ("decode", ids)):
            method = methods[role]
            logits = next(o for o in method["outputs"] if o["role"] == "logits")
            stock = array.array("f", pathlib.Path(f"{out}.{role}").read_bytes())
            if logits["shape"][1] > 1:
                row = len(tokens) - 1 if role == "prefill" else 0
                stock = stock[row * contract["vocab_size"]:(row + 1) * contract["vocab_size"]]
            run([PTERON, "logits", program, "--tokens", ",".join(map(str, tokens)), "--last", "-o", folder / "ours.safetensors", "-q"])
            worst = max(worst, max_difference(stock, read_tensors(folder / "ours.safetensors")["logits"][1]))
        return worst
