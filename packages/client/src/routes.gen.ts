/** Method and path of every endpoint, as data. Generated from the rows of @parley/protocol by `npm run generate`. */
import type * as rows from '@parley/protocol'
import type { RouteOf } from './route.ts'

export const activateAgentProfile: RouteOf<typeof rows.activateAgentProfile> = {
  method: 'POST',
  path: '/api/agent-profiles/{profile_id}/activate',
}
export const activateProfile: RouteOf<typeof rows.activateProfile> = {
  method: 'POST',
  path: '/api/profiles/{name}/activate',
}
export const addMcpServer: RouteOf<typeof rows.addMcpServer> = {
  method: 'POST',
  path: '/api/settings/mcp/{settings_key}',
}
export const addWorkspaceParents: RouteOf<typeof rows.addWorkspaceParents> = {
  method: 'POST',
  path: '/api/workspaces/parents',
}
export const addWorkspaces: RouteOf<typeof rows.addWorkspaces> = { method: 'POST', path: '/api/workspaces' }
export const agentFinalResponse: RouteOf<typeof rows.agentFinalResponse> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/agent_final_response',
}
export const agentSettingsSchema: RouteOf<typeof rows.agentSettingsSchema> = {
  method: 'GET',
  path: '/api/settings/agent-schema',
}
export const alive: RouteOf<typeof rows.alive> = { method: 'GET', path: '/alive' }
export const archiveDirectory: RouteOf<typeof rows.archiveDirectory> = { method: 'GET', path: '/api/file/archive' }
export const askAgent: RouteOf<typeof rows.askAgent> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/ask_agent',
}
export const batchGetBashEvents: RouteOf<typeof rows.batchGetBashEvents> = {
  method: 'GET',
  path: '/api/bash/bash_events/',
}
export const batchGetEvents: RouteOf<typeof rows.batchGetEvents> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/events',
}
export const chatCompletion: RouteOf<typeof rows.chatCompletion> = { method: 'POST', path: '/v1/chat/completions' }
export const clearBashEvents: RouteOf<typeof rows.clearBashEvents> = { method: 'DELETE', path: '/api/bash/bash_events' }
export const closeWorkspaceSession: RouteOf<typeof rows.closeWorkspaceSession> = {
  method: 'DELETE',
  path: '/api/auth/workspace-session',
}
export const condenseConversation: RouteOf<typeof rows.condenseConversation> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/condense',
}
export const conversationProgress: RouteOf<typeof rows.conversationProgress> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/status',
}
export const conversationSettingsSchema: RouteOf<typeof rows.conversationSettingsSchema> = {
  method: 'GET',
  path: '/api/settings/conversation-schema',
}
export const countConversations: RouteOf<typeof rows.countConversations> = {
  method: 'GET',
  path: '/api/conversations/count',
}
export const countEvents: RouteOf<typeof rows.countEvents> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/events/count',
}
export const createConversation: RouteOf<typeof rows.createConversation> = {
  method: 'POST',
  path: '/api/conversations',
}
export const createDirectory: RouteOf<typeof rows.createDirectory> = {
  method: 'POST',
  path: '/api/file/create_directory',
}
export const createKey: RouteOf<typeof rows.createKey> = { method: 'POST', path: '/api/keys' }
export const createLoginCode: RouteOf<typeof rows.createLoginCode> = { method: 'POST', path: '/api/auth/codes' }
export const createProviderConnection: RouteOf<typeof rows.createProviderConnection> = {
  method: 'POST',
  path: '/api/llm/provider-connections',
}
export const createSecret: RouteOf<typeof rows.createSecret> = { method: 'POST', path: '/api/secrets' }
export const deleteAgentProfile: RouteOf<typeof rows.deleteAgentProfile> = {
  method: 'DELETE',
  path: '/api/agent-profiles/{name}',
}
export const deleteConversation: RouteOf<typeof rows.deleteConversation> = {
  method: 'DELETE',
  path: '/api/conversations/{conversation_id}',
}
export const deleteDemo: RouteOf<typeof rows.deleteDemo> = { method: 'DELETE', path: '/api/demo' }
export const deleteProfile: RouteOf<typeof rows.deleteProfile> = { method: 'DELETE', path: '/api/profiles/{name}' }
export const deleteProviderConnection: RouteOf<typeof rows.deleteProviderConnection> = {
  method: 'DELETE',
  path: '/api/llm/provider-connections/{connection_id}',
}
export const deleteSecret: RouteOf<typeof rows.deleteSecret> = { method: 'DELETE', path: '/api/secrets/{secret_id}' }
export const deleteStoredSecret: RouteOf<typeof rows.deleteStoredSecret> = {
  method: 'DELETE',
  path: '/api/settings/secrets/{name}',
}
export const deleteUser: RouteOf<typeof rows.deleteUser> = { method: 'DELETE', path: '/api/users/{user}' }
export const deleteWorkspace: RouteOf<typeof rows.deleteWorkspace> = { method: 'DELETE', path: '/api/workspaces' }
export const deleteWorkspaceParent: RouteOf<typeof rows.deleteWorkspaceParent> = {
  method: 'DELETE',
  path: '/api/workspaces/parents',
}
export const disableUser: RouteOf<typeof rows.disableUser> = { method: 'POST', path: '/api/users/{user}/disable' }
export const downloadConversationFile: RouteOf<typeof rows.downloadConversationFile> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/files/content',
}
export const downloadFile: RouteOf<typeof rows.downloadFile> = { method: 'GET', path: '/api/file/download' }
export const downloadTrajectory: RouteOf<typeof rows.downloadTrajectory> = {
  method: 'GET',
  path: '/api/file/download-trajectory/{conversation_id}',
}
export const enablePlugin: RouteOf<typeof rows.enablePlugin> = {
  method: 'PATCH',
  path: '/api/plugins/installed/{plugin_name}',
}
export const enableSkill: RouteOf<typeof rows.enableSkill> = {
  method: 'PATCH',
  path: '/api/skills/installed/{skill_name}',
}
export const enableUser: RouteOf<typeof rows.enableUser> = { method: 'POST', path: '/api/users/{user}/enable' }
export const endCurrentLoginSession: RouteOf<typeof rows.endCurrentLoginSession> = {
  method: 'DELETE',
  path: '/api/auth/sessions/current',
}
export const endLoginSession: RouteOf<typeof rows.endLoginSession> = {
  method: 'DELETE',
  path: '/api/auth/sessions/{session_id}',
}
export const endSubscription: RouteOf<typeof rows.endSubscription> = {
  method: 'POST',
  path: '/api/llm/subscription/openai/logout',
}
export const executeBashCommand: RouteOf<typeof rows.executeBashCommand> = {
  method: 'POST',
  path: '/api/bash/execute_bash_command',
}
export const fileHome: RouteOf<typeof rows.fileHome> = { method: 'GET', path: '/api/file/home' }
export const findEvents: RouteOf<typeof rows.findEvents> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/events/find',
}
export const finishMcpLogin: RouteOf<typeof rows.finishMcpLogin> = {
  method: 'POST',
  path: '/api/mcp/oauth/callback/{job_id}',
}
export const forkConversation: RouteOf<typeof rows.forkConversation> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/fork',
}
export const getAgentProfile: RouteOf<typeof rows.getAgentProfile> = {
  method: 'GET',
  path: '/api/agent-profiles/{name}',
}
export const getApprovals: RouteOf<typeof rows.getApprovals> = { method: 'GET', path: '/api/approvals' }
export const getBashEvent: RouteOf<typeof rows.getBashEvent> = {
  method: 'GET',
  path: '/api/bash/bash_events/{event_id}',
}
export const getConversation: RouteOf<typeof rows.getConversation> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}',
}
export const getConversationUsage: RouteOf<typeof rows.getConversationUsage> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/usage',
}
export const getConversations: RouteOf<typeof rows.getConversations> = { method: 'GET', path: '/api/conversations' }
export const getDesktopUrl: RouteOf<typeof rows.getDesktopUrl> = { method: 'GET', path: '/api/desktop/url' }
export const getEvent: RouteOf<typeof rows.getEvent> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/events/{event_id}',
}
export const getEventOutline: RouteOf<typeof rows.getEventOutline> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/events/outline',
}
export const getInit: RouteOf<typeof rows.getInit> = { method: 'GET', path: '/api/init' }
export const getInstalledPlugin: RouteOf<typeof rows.getInstalledPlugin> = {
  method: 'GET',
  path: '/api/plugins/installed/{plugin_name}',
}
export const getInstalledSkill: RouteOf<typeof rows.getInstalledSkill> = {
  method: 'GET',
  path: '/api/skills/installed/{skill_name}',
}
export const getMcpLogin: RouteOf<typeof rows.getMcpLogin> = { method: 'GET', path: '/api/mcp/oauth/status/{job_id}' }
export const getProfile: RouteOf<typeof rows.getProfile> = { method: 'GET', path: '/api/profiles/{name}' }
export const getSubscriptionStatus: RouteOf<typeof rows.getSubscriptionStatus> = {
  method: 'GET',
  path: '/api/llm/subscription/openai/status',
}
export const getTrajectory: RouteOf<typeof rows.getTrajectory> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/trajectory',
}
export const getVscodeStatus: RouteOf<typeof rows.getVscodeStatus> = { method: 'GET', path: '/api/vscode/status' }
export const getVscodeUrl: RouteOf<typeof rows.getVscodeUrl> = { method: 'GET', path: '/api/vscode/url' }
export const gitChanges: RouteOf<typeof rows.gitChanges> = { method: 'GET', path: '/api/git/changes' }
export const gitCommitChanges: RouteOf<typeof rows.gitCommitChanges> = {
  method: 'GET',
  path: '/api/git/commits/{sha}/changes',
}
export const gitCommits: RouteOf<typeof rows.gitCommits> = { method: 'GET', path: '/api/git/commits' }
export const gitDiff: RouteOf<typeof rows.gitDiff> = { method: 'GET', path: '/api/git/diff' }
export const gitPatch: RouteOf<typeof rows.gitPatch> = { method: 'GET', path: '/api/git/patch' }
export const health: RouteOf<typeof rows.health> = { method: 'GET', path: '/health' }
export const installPlugin: RouteOf<typeof rows.installPlugin> = { method: 'POST', path: '/api/plugins/install' }
export const installSkill: RouteOf<typeof rows.installSkill> = { method: 'POST', path: '/api/skills/install' }
export const interruptConversation: RouteOf<typeof rows.interruptConversation> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/interrupt',
}
export const listAcpServers: RouteOf<typeof rows.listAcpServers> = { method: 'GET', path: '/api/acp/servers' }
export const listAgentProfiles: RouteOf<typeof rows.listAgentProfiles> = { method: 'GET', path: '/api/agent-profiles' }
export const listCompletions: RouteOf<typeof rows.listCompletions> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/completions',
}
export const listConversationFiles: RouteOf<typeof rows.listConversationFiles> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/files',
}
export const listDeliveries: RouteOf<typeof rows.listDeliveries> = { method: 'GET', path: '/api/webhooks/deliveries' }
export const listGatewayModels: RouteOf<typeof rows.listGatewayModels> = { method: 'GET', path: '/v1/models' }
export const listInstalledPlugins: RouteOf<typeof rows.listInstalledPlugins> = {
  method: 'GET',
  path: '/api/plugins/installed',
}
export const listInstalledSkills: RouteOf<typeof rows.listInstalledSkills> = {
  method: 'GET',
  path: '/api/skills/installed',
}
export const listKeys: RouteOf<typeof rows.listKeys> = { method: 'GET', path: '/api/keys' }
export const listLoginSessions: RouteOf<typeof rows.listLoginSessions> = { method: 'GET', path: '/api/auth/sessions' }
export const listModels: RouteOf<typeof rows.listModels> = { method: 'GET', path: '/api/llm/models' }
export const listPluginMarketplace: RouteOf<typeof rows.listPluginMarketplace> = {
  method: 'GET',
  path: '/api/plugins/marketplace',
}
export const listProfiles: RouteOf<typeof rows.listProfiles> = { method: 'GET', path: '/api/profiles' }
export const listProviderConnections: RouteOf<typeof rows.listProviderConnections> = {
  method: 'GET',
  path: '/api/llm/provider-connections',
}
export const listProviders: RouteOf<typeof rows.listProviders> = { method: 'GET', path: '/api/llm/providers' }
export const listQuotas: RouteOf<typeof rows.listQuotas> = { method: 'GET', path: '/api/quotas/users' }
export const listSecrets: RouteOf<typeof rows.listSecrets> = { method: 'GET', path: '/api/secrets' }
export const listSkillMarketplace: RouteOf<typeof rows.listSkillMarketplace> = {
  method: 'GET',
  path: '/api/skills/marketplace',
}
export const listStoredSecrets: RouteOf<typeof rows.listStoredSecrets> = {
  method: 'GET',
  path: '/api/settings/secrets',
}
export const listSubscriptionModels: RouteOf<typeof rows.listSubscriptionModels> = {
  method: 'GET',
  path: '/api/llm/subscription/openai/models',
}
export const listTools: RouteOf<typeof rows.listTools> = { method: 'GET', path: '/api/tools/' }
export const listUsers: RouteOf<typeof rows.listUsers> = { method: 'GET', path: '/api/users' }
export const listVerifiedModels: RouteOf<typeof rows.listVerifiedModels> = {
  method: 'GET',
  path: '/api/llm/models/verified',
}
export const listWorkspaces: RouteOf<typeof rows.listWorkspaces> = { method: 'GET', path: '/api/workspaces' }
export const loadHooks: RouteOf<typeof rows.loadHooks> = { method: 'POST', path: '/api/hooks' }
export const loadPlugin: RouteOf<typeof rows.loadPlugin> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/load_plugin',
}
export const loadPlugins: RouteOf<typeof rows.loadPlugins> = { method: 'POST', path: '/api/plugins' }
export const loadSkills: RouteOf<typeof rows.loadSkills> = { method: 'POST', path: '/api/skills' }
export const loadSubAgents: RouteOf<typeof rows.loadSubAgents> = { method: 'POST', path: '/api/sub-agents' }
export const materializeAgentProfile: RouteOf<typeof rows.materializeAgentProfile> = {
  method: 'POST',
  path: '/api/agent-profiles/{name}/materialize',
}
export const navigateConversation: RouteOf<typeof rows.navigateConversation> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/navigate',
}
export const openLoginSession: RouteOf<typeof rows.openLoginSession> = { method: 'POST', path: '/api/auth/sessions' }
export const openWorkspaceSession: RouteOf<typeof rows.openWorkspaceSession> = {
  method: 'POST',
  path: '/api/auth/workspace-session',
}
export const patchMcpServer: RouteOf<typeof rows.patchMcpServer> = {
  method: 'PATCH',
  path: '/api/settings/mcp/{settings_key}',
}
export const patchSettings: RouteOf<typeof rows.patchSettings> = { method: 'PATCH', path: '/api/settings' }
export const pauseConversation: RouteOf<typeof rows.pauseConversation> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/pause',
}
export const pollSubscriptionLogin: RouteOf<typeof rows.pollSubscriptionLogin> = {
  method: 'POST',
  path: '/api/llm/subscription/openai/device/poll',
}
export const postClientToolResult: RouteOf<typeof rows.postClientToolResult> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/events/{event_id}/result',
}
export const postInit: RouteOf<typeof rows.postInit> = { method: 'POST', path: '/api/init' }
export const prepareForPause: RouteOf<typeof rows.prepareForPause> = {
  method: 'POST',
  path: '/api/conversations/prepare-for-sandbox-pause',
}
export const putCredentialBinding: RouteOf<typeof rows.putCredentialBinding> = {
  method: 'PUT',
  path: '/api/conversations/{conversation_id}/credential-bindings/{secret_name}',
}
export const putStoredSecret: RouteOf<typeof rows.putStoredSecret> = { method: 'PUT', path: '/api/settings/secrets' }
export const readAudit: RouteOf<typeof rows.readAudit> = { method: 'GET', path: '/api/audit' }
export const readCompletion: RouteOf<typeof rows.readCompletion> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/completions/{filename}',
}
export const readConversationText: RouteOf<typeof rows.readConversationText> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/files/text',
}
export const readFleet: RouteOf<typeof rows.readFleet> = { method: 'GET', path: '/api/fleet' }
export const readMe: RouteOf<typeof rows.readMe> = { method: 'GET', path: '/api/me' }
export const readMetrics: RouteOf<typeof rows.readMetrics> = { method: 'GET', path: '/metrics' }
export const readQuotas: RouteOf<typeof rows.readQuotas> = { method: 'GET', path: '/api/quotas' }
export const readSettings: RouteOf<typeof rows.readSettings> = { method: 'GET', path: '/api/settings' }
export const readStoredSecret: RouteOf<typeof rows.readStoredSecret> = {
  method: 'GET',
  path: '/api/settings/secrets/{name}',
}
export const ready: RouteOf<typeof rows.ready> = { method: 'GET', path: '/ready' }
export const receiveConversation: RouteOf<typeof rows.receiveConversation> = {
  method: 'POST',
  path: '/api/v1/webhooks/conversations',
}
export const receiveEvents: RouteOf<typeof rows.receiveEvents> = {
  method: 'POST',
  path: '/api/v1/webhooks/events/{conversation_id}',
}
export const redeliver: RouteOf<typeof rows.redeliver> = {
  method: 'POST',
  path: '/api/webhooks/deliveries/{delivery_id}/redeliver',
}
export const refreshPlugin: RouteOf<typeof rows.refreshPlugin> = {
  method: 'POST',
  path: '/api/plugins/installed/{plugin_name}/refresh',
}
export const refreshSkill: RouteOf<typeof rows.refreshSkill> = {
  method: 'POST',
  path: '/api/skills/installed/{skill_name}/refresh',
}
export const removeMcpServer: RouteOf<typeof rows.removeMcpServer> = {
  method: 'DELETE',
  path: '/api/settings/mcp/{settings_key}',
}
export const renameAgentProfile: RouteOf<typeof rows.renameAgentProfile> = {
  method: 'POST',
  path: '/api/agent-profiles/{name}/rename',
}
export const renameProfile: RouteOf<typeof rows.renameProfile> = { method: 'POST', path: '/api/profiles/{name}/rename' }
export const respondToConfirmation: RouteOf<typeof rows.respondToConfirmation> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/events/respond_to_confirmation',
}
export const resumeGoal: RouteOf<typeof rows.resumeGoal> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/goal/resume',
}
export const revokeKey: RouteOf<typeof rows.revokeKey> = { method: 'DELETE', path: '/api/keys/{key_id}' }
export const rotateKey: RouteOf<typeof rows.rotateKey> = { method: 'POST', path: '/api/keys/{key_id}/rotate' }
export const runConversation: RouteOf<typeof rows.runConversation> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/run',
}
export const saveAgentProfile: RouteOf<typeof rows.saveAgentProfile> = {
  method: 'POST',
  path: '/api/agent-profiles/{name}',
}
export const saveProfile: RouteOf<typeof rows.saveProfile> = { method: 'POST', path: '/api/profiles/{name}' }
export const searchBashEvents: RouteOf<typeof rows.searchBashEvents> = {
  method: 'GET',
  path: '/api/bash/bash_events/search',
}
export const searchConversationFiles: RouteOf<typeof rows.searchConversationFiles> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/files/search',
}
export const searchConversations: RouteOf<typeof rows.searchConversations> = {
  method: 'GET',
  path: '/api/conversations/search',
}
export const searchEvents: RouteOf<typeof rows.searchEvents> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/events/search',
}
export const searchSubdirectories: RouteOf<typeof rows.searchSubdirectories> = {
  method: 'GET',
  path: '/api/file/search_subdirs',
}
export const sendMessage: RouteOf<typeof rows.sendMessage> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/events',
}
export const serverInfo: RouteOf<typeof rows.serverInfo> = { method: 'GET', path: '/server_info' }
export const setConfirmationPolicy: RouteOf<typeof rows.setConfirmationPolicy> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/confirmation_policy',
}
export const setSecurityAnalyzer: RouteOf<typeof rows.setSecurityAnalyzer> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/security_analyzer',
}
export const startAgain: RouteOf<typeof rows.startAgain> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/start',
}
export const startBashCommand: RouteOf<typeof rows.startBashCommand> = {
  method: 'POST',
  path: '/api/bash/start_bash_command',
}
export const startDemo: RouteOf<typeof rows.startDemo> = { method: 'POST', path: '/api/demo' }
export const startGoal: RouteOf<typeof rows.startGoal> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/goal',
}
export const startMcpLogin: RouteOf<typeof rows.startMcpLogin> = { method: 'POST', path: '/api/mcp/oauth/start' }
export const startSubscriptionLogin: RouteOf<typeof rows.startSubscriptionLogin> = {
  method: 'POST',
  path: '/api/llm/subscription/openai/device/start',
}
export const stopConversation: RouteOf<typeof rows.stopConversation> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/stop',
}
export const stopGoal: RouteOf<typeof rows.stopGoal> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/goal/stop',
}
export const storeSettings: RouteOf<typeof rows.storeSettings> = { method: 'POST', path: '/api/settings' }
export const streamEvents: RouteOf<typeof rows.streamEvents> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/events/stream',
}
export const switchAcpModel: RouteOf<typeof rows.switchAcpModel> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/switch_acp_model',
}
export const switchLlm: RouteOf<typeof rows.switchLlm> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/switch_llm',
}
export const switchProfile: RouteOf<typeof rows.switchProfile> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/switch_profile',
}
export const syncSkills: RouteOf<typeof rows.syncSkills> = { method: 'POST', path: '/api/skills/sync' }
export const testMcpServer: RouteOf<typeof rows.testMcpServer> = { method: 'POST', path: '/api/mcp/test' }
export const uninstallPlugin: RouteOf<typeof rows.uninstallPlugin> = {
  method: 'DELETE',
  path: '/api/plugins/installed/{plugin_name}',
}
export const uninstallSkill: RouteOf<typeof rows.uninstallSkill> = {
  method: 'DELETE',
  path: '/api/skills/installed/{skill_name}',
}
export const updateConversation: RouteOf<typeof rows.updateConversation> = {
  method: 'PATCH',
  path: '/api/conversations/{conversation_id}',
}
export const updateProviderConnection: RouteOf<typeof rows.updateProviderConnection> = {
  method: 'PATCH',
  path: '/api/llm/provider-connections/{connection_id}',
}
export const updateSecret: RouteOf<typeof rows.updateSecret> = { method: 'PUT', path: '/api/secrets/{secret_id}' }
export const updateSecrets: RouteOf<typeof rows.updateSecrets> = {
  method: 'POST',
  path: '/api/conversations/{conversation_id}/secrets',
}
export const uploadFile: RouteOf<typeof rows.uploadFile> = { method: 'POST', path: '/api/file/upload' }
export const validateProfile: RouteOf<typeof rows.validateProfile> = {
  method: 'POST',
  path: '/api/profiles/{name}/validate',
}
export const workspaceFile: RouteOf<typeof rows.workspaceFile> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/workspace/{file_path}',
}
export const workspaceIndex: RouteOf<typeof rows.workspaceIndex> = {
  method: 'GET',
  path: '/api/conversations/{conversation_id}/workspace',
}
