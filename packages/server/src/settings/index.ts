export { openedLlm } from './conversation-secrets.ts'
export { openConversationSecretAccess, type ConversationSecretAccess } from './conversation-secret-access.ts'
export { makeFirstKey, readFirstKey, type FirstKey } from './first-key.ts'
export { openMasking, type Masking } from './masking.ts'
export { openCommandSecrets, type CommandSecrets } from './command-secrets.ts'
export {
  analyzerNamed,
  conversationDefaults,
  withStoredKey,
  type ConversationDefaults,
  type ServerModel,
} from './conversation-defaults.ts'
export { openSavedWorkspaces, type SavedWorkspaces } from './saved-workspaces.ts'
export { agentForm, conversationForm } from './forms.ts'
export { openLogins, type Logins, type OpenedLogin } from './logins.ts'
export { DEFAULT_USER, openIdentities, type Identities, type Identity, type NewKey } from './identity.ts'
export { serversOf } from './mcp-config.ts'
export { newUserIn } from './new-user.ts'
export { expectSecretName, openNamedSecrets, type NamedSecrets, type OpenSecret } from './secrets.ts'
export { changeState, openUserLifecycle, SuspendedUsers, type UserLifecycle } from './user-lifecycle.ts'
export { openUserSettings, type Exposure, type FindLlm, type UserSettings } from './settings.ts'
export { ACP_SERVERS } from './profiles/acp-servers.ts'
export { openAgentProfiles, type AgentProfiles } from './profiles/agent-profiles.ts'
export { openProviderConnections, type ProviderConnections } from './profiles/connections.ts'
export {
  agentMember,
  launchAgent,
  placeInAgent,
  type AgentMember,
  type LaunchRequest,
  type LaunchedAgent,
} from './profiles/launch.ts'
export { openFindLlm, openLlmProfiles, type LlmProfiles } from './profiles/llm-profiles.ts'
export { LLM_PROFILES } from './profiles/documents.ts'
