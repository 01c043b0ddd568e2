"""Profiles a running job, under ``torch_npu.profiler.dynamic_profile``.

torch_npu polls one file, ``profiler_config.json``. It answers in its logs beside that file and with ``*_ascend_pt``
folders. There is no other interface. ``request`` writes the file, ``logs`` and ``processes`` watch the job, ``follow``
waits, and ``reasons`` explains failures. Nothing here imports torch_npu: the job may run in another environment.
"""
