"""`manage.py up`, which `make run` calls: everything a start needs, then one server and one worker.

`prepare` checks and makes what is missing, `processes` starts the two, keeps them alive and ends them together, `leash`
is the end of the rope in each of them, `server` is waitress, `listing` says in lines what is open.
"""
