"""The lit tests: small inputs, checked by FileCheck, named after what they test."""

from pathlib import Path

import lit.formats
from lit.llvm import llvm_config

config.name = "onnx-amp"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".onnxtxt"]
config.excludes = [
    "Inputs",
    "cases",
    "consumer",
    "hostile",
    "layering",
    "lib",
    "models",
    "python",
    "unit",
]
config.test_source_root = str(Path(config.amp_source_dir, "test"))
config.test_exec_root = str(Path(config.amp_binary_dir, "test"))

# A CHECK variable ends with its CHECK-LABEL, so that no test matches by accident.
config.environment["FILECHECK_OPTS"] = "-enable-var-scope"

if config.amp_asan:
    config.available_features.add("asan")

# What runs models.
config.environment["AMP_PYTHON"] = config.python_executable

llvm_config.with_system_environment(["HOME", "TMPDIR", "ASAN_SYMBOLIZER_PATH"])
llvm_config.add_tool_substitutions(
    [
        "amp-opt",
        "amp-test-opt",
        "amp-test-ranges",
        "amp-translate",
        "onnx-amp",
        "FileCheck",
        "not",
        "count",
        "mlir-opt",
        "mlir-runner",
        "split-file",
    ],
    [config.amp_tools_dir, config.llvm_tools_dir],
)
config.substitutions.append(
    ("%plugin", str(Path(config.amp_binary_dir, "lib", "libOnnxAMPPlugin.so")))
)
config.substitutions.append(("%mlir_libs", str(Path(config.llvm_tools_dir).parent / "lib")))
config.substitutions.append(("%python", config.python_executable))
