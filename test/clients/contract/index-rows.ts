/**
 * All HTTP operations of the agent-server API, with a tier: A = clients need it, B = a graphical interface uses it,
 * C = peripheral. Source: agent-server-wire.md 1.2.
 */
type Tier = 'A' | 'B' | 'C'
export type IndexRow = { tier: Tier; method: string; path: string }

const TEXT = `
# Liveness and server details
A GET /alive
A GET /health
A GET /ready
A GET /server_info
C GET /
# Deferred init
C GET /api/init
C POST /api/init
# Conversations
A GET /api/conversations
A POST /api/conversations
A GET /api/conversations/search
A GET /api/conversations/count
A GET /api/conversations/{id}
A PATCH /api/conversations/{id}
A DELETE /api/conversations/{id}
A POST /api/conversations/{id}/run
A POST /api/conversations/{id}/pause
A POST /api/conversations/{id}/interrupt
A GET /api/conversations/{id}/agent_final_response
A POST /api/conversations/{id}/secrets
A POST /api/conversations/{id}/confirmation_policy
A POST /api/conversations/{id}/security_analyzer
A POST /api/conversations/{id}/ask_agent
A POST /api/conversations/{id}/condense
A POST /api/conversations/{id}/fork
A POST /api/conversations/{id}/navigate
B POST /api/conversations/{id}/goal
B POST /api/conversations/{id}/goal/stop
B POST /api/conversations/{id}/goal/resume
B POST /api/conversations/{id}/switch_profile
B POST /api/conversations/{id}/switch_llm
B POST /api/conversations/{id}/load_plugin
B POST /api/conversations/{id}/switch_acp_model
C PUT /api/conversations/{id}/credential-bindings/{secret_name}
C POST /api/conversations/prepare-for-sandbox-pause
# Events of a conversation
A POST /api/conversations/{id}/events
A GET /api/conversations/{id}/events/search
A GET /api/conversations/{id}/events/count
A GET /api/conversations/{id}/events/{event_id}
C GET /api/conversations/{id}/events
A POST /api/conversations/{id}/events/respond_to_confirmation
# Tool registry
B GET /api/tools/
# Bash
A POST /api/bash/start_bash_command
A POST /api/bash/execute_bash_command
A GET /api/bash/bash_events/search
B GET /api/bash/bash_events/{event_id}
C GET /api/bash/bash_events/
B DELETE /api/bash/bash_events
# Git
A GET /api/git/changes
A GET /api/git/diff
B GET /api/git/commits
B GET /api/git/commits/{sha}/changes
# Files
A POST /api/file/upload
A GET /api/file/download
B POST /api/file/create_directory
B GET /api/file/home
B GET /api/file/search_subdirs
B GET /api/file/download-trajectory/{id}
C GET /api/file/archive
# Settings and stored secrets
A GET /api/settings
B PATCH /api/settings
B GET /api/settings/agent-schema
B GET /api/settings/conversation-schema
B POST /api/settings/mcp/{settings_key}
B PATCH /api/settings/mcp/{settings_key}
B DELETE /api/settings/mcp/{settings_key}
A GET /api/settings/secrets
B PUT /api/settings/secrets
A GET /api/settings/secrets/{name}
B DELETE /api/settings/secrets/{name}
# LLM profiles
B GET /api/profiles
A GET /api/profiles/{name}
B POST /api/profiles/{name}
B DELETE /api/profiles/{name}
B POST /api/profiles/{name}/validate
B POST /api/profiles/{name}/rename
B POST /api/profiles/{name}/activate
# Agent profiles
B GET /api/agent-profiles
B GET /api/agent-profiles/{name}
B POST /api/agent-profiles/{name}
B DELETE /api/agent-profiles/{name}
B POST /api/agent-profiles/{name}/rename
B POST /api/agent-profiles/{profile_id}/activate
B POST /api/agent-profiles/{name}/materialize
# LLM catalogue, provider connections, subscription login
B GET /api/llm/providers
B GET /api/llm/models
B GET /api/llm/models/verified
B GET /api/llm/provider-connections
B POST /api/llm/provider-connections
B PATCH /api/llm/provider-connections/{connection_id}
B DELETE /api/llm/provider-connections/{connection_id}
C GET /api/llm/subscription/openai/models
C GET /api/llm/subscription/openai/status
C POST /api/llm/subscription/openai/device/start
C POST /api/llm/subscription/openai/device/poll
C POST /api/llm/subscription/openai/logout
# MCP
B POST /api/mcp/test
C POST /api/mcp/oauth/start
C GET /api/mcp/oauth/status/{job_id}
C POST /api/mcp/oauth/callback/{job_id}
# Skills
B POST /api/skills
B POST /api/skills/sync
B POST /api/skills/install
B GET /api/skills/installed
B GET /api/skills/installed/{name}
B PATCH /api/skills/installed/{name}
B DELETE /api/skills/installed/{name}
B POST /api/skills/installed/{name}/refresh
B GET /api/skills/marketplace
# Plugins
B POST /api/plugins
B POST /api/plugins/install
B GET /api/plugins/installed
B GET /api/plugins/installed/{name}
B PATCH /api/plugins/installed/{name}
B DELETE /api/plugins/installed/{name}
B POST /api/plugins/installed/{name}/refresh
B GET /api/plugins/marketplace
# Hooks, sub-agents, saved workspaces
B POST /api/hooks
B POST /api/sub-agents
B GET /api/workspaces
B POST /api/workspaces
B DELETE /api/workspaces
B POST /api/workspaces/parents
B DELETE /api/workspaces/parents
# Workspace cookie and static workspace files
B POST /api/auth/workspace-session
B DELETE /api/auth/workspace-session
B GET /api/conversations/{id}/workspace
B GET /api/conversations/{id}/workspace/{file_path}
# VSCode and desktop
C GET /api/vscode/url
C GET /api/vscode/status
C GET /api/desktop/url
# OpenAI-compatible gateway
C GET /v1/models
C POST /v1/chat/completions
`

export const INDEX: readonly IndexRow[] = TEXT.split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [tier, method, path] = line.split(' ') as [Tier, string, string]
    return { tier, method, path }
  })

/** Name of a row, such as `GET /alive`. */
export const nameOf = ({ method, path }: Pick<IndexRow, 'method' | 'path'>): string => `${method} ${path}`

/** The operation without the names of its parameters. */
export const anonymous = (name: string): string => name.replaceAll(/\{\w+\}/g, '{}')
