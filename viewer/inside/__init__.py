"""The site inside the agents: what is installed into an agent (a *door*), by which it calls the site."""
