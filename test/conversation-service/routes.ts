/** All documented routes of a server, and a valid request for each. */
import type { Loose, Serving } from '../../packages/server/testing/multi-user-server.ts'

export type ServedRoute = { method: string; path: string; isOpen: boolean; names: string[] }

/** Reads the routes from the server's OpenAPI document. */
export async function routesOf({ call }: Serving): Promise<ServedRoute[]> {
  const { json } = await call('GET', '/openapi.json', undefined, { key: null })
  return Object.entries(json.paths as Record<string, Record<string, Loose>>).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { security }]) => ({
      method: method.toUpperCase(),
      path,
      isOpen: security === undefined,
      names: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!),
    })),
  )
}

/** The path with its parameters filled in. */
export const filled = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? 'none'))

const LLM = { model: 'openai/scripted', api_key: 'a-key-of-the-model' }

const WORKSPACE = { id: '/saved', name: 'Taken over', path: '/saved' }

/** Valid bodies, so that an answer depends on the resource and not on the body. */
export function bodyFor(method: string, path: string): unknown {
  const bodies: Record<string, unknown> = {
    'PATCH /api/conversations/{conversation_id}': { title: 'Taken over' },
    'POST /api/conversations/{conversation_id}/confirmation_policy': { policy: { kind: 'AlwaysConfirm' } },
    'POST /api/conversations/{conversation_id}/security_analyzer': {
      security_analyzer: { kind: 'LLMSecurityAnalyzer' },
    },
    'POST /api/conversations/{conversation_id}/fork': {},
    'POST /api/conversations/{conversation_id}/navigate': { event_id: null },
    'POST /api/conversations/{conversation_id}/ask_agent': { question: 'What is it about?' },
    'POST /api/conversations/{conversation_id}/events': { content: [{ type: 'text', text: 'from a stranger' }] },
    'POST /api/conversations/{conversation_id}/events/respond_to_confirmation': { accept: true },
    'PUT /api/secrets/{secret_id}': { name: 'TAKEN_OVER' },
    'POST /api/settings/mcp/{settings_key}': { command: 'true' },
    'PATCH /api/settings/mcp/{settings_key}': { enabled: false },
    'PATCH /api/llm/provider-connections/{connection_id}': { display_name: 'Taken over' },
    'POST /api/profiles/{name}': { llm: LLM },
    'POST /api/profiles/{name}/validate': { llm: LLM },
    'POST /api/profiles/{name}/rename': { new_name: 'taken-over' },
    'POST /api/agent-profiles/{name}': { llm_profile_ref: 'none' },
    'POST /api/agent-profiles/{name}/rename': { new_name: 'taken-over' },
    'PATCH /api/plugins/installed/{plugin_name}': { enabled: false },
    'PATCH /api/skills/installed/{skill_name}': { enabled: false },
    'POST /api/plugins': {},
    'POST /api/workspaces': { workspaces: [WORKSPACE] },
    'POST /api/workspaces/parents': { parents: [WORKSPACE] },
    'POST /api/mcp/oauth/start': { server: { type: 'http', url: 'https://mcp.example/' } },
    'POST /api/mcp/oauth/callback/{job_id}': { callback_url: 'https://mcp.example/?code=x' },
    'POST /api/llm/subscription/openai/device/poll': { device_code: 'x' },
  }
  return bodies[`${method} ${path}`]
}
