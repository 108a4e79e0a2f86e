"""Sessions of Qwen Code, files of lines that are a tree of records: they are only read (docs/qwen.md)."""
