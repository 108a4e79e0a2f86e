from pathlib import Path

import pytest
from pytest_django import Settings

from tests.clients import ApiClient
from tests.factories.stores import HermesStore
from tests.workspace_session import WorkspaceSession, furnish


@pytest.fixture
def workspace_session(
    hermes_store: HermesStore, api_client: ApiClient, tmp_path: Path, settings: Settings
) -> WorkspaceSession:
    """A session in a workspace with rules."""
    settings.WORKSPACES = [tmp_path]
    return furnish(hermes_store, api_client, tmp_path / "ws")
