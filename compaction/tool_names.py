"""Names by which agents call the tools that read a file or run a command, in lower case."""

from __future__ import annotations

READ_TOOLS = (
    *("read", "read_file", "readfile", "read_text_file", "file_read", "fs_read", "cat_file", "open", "open_file"),
    *("view", "view_file", "notebookread", "read_notebook", "read_files", "read_many_files", "read_multiple_files"),
)
SHELL_TOOLS = (
    *("bash", "shell", "sh", "zsh", "powershell", "pwsh", "cmd", "terminal", "exec", "exec_command", "unified_exec"),
    *("shell_command", "shell_exec", "shell_tool", "local_shell", "local_shell_call", "bash_command", "bash_tool"),
    *("run_command", "run_shell_command", "run_terminal_cmd", "run_terminal_command", "run_in_terminal"),
    *("execute_command", "execute_bash", "execute_shell_command"),
)
