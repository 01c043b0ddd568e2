"""Profiles of Ascend NPUs, as torch_npu, MindSpore, msprof and msmonitor write them: databases and text files."""
