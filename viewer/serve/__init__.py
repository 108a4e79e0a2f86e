"""`manage.py up`, which `make run` calls: everything a start needs, then a web server and a worker.

`prepare` checks and makes what is missing, `supervisor` starts server and worker, restarts them and ends them together,
`parent` is how they learn of that end, `server` is waitress and its options, `listing` says in lines what is open.
"""
