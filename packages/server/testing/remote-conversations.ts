/** Helpers for tests of conversations in remote workspaces. */
import { expect } from 'vitest'
import { canary } from './canaries/values.ts'
import type { ScriptedAnswer } from './scripted-model.ts'
import type { ServerProcess } from './server-process.ts'

/** Key of the other server. */
export const REMOTE_KEY = canary('remote_key')

export const tool = (name: string, args: Record<string, unknown>): ScriptedAnswer => ({
  text: '',
  toolCalls: [{ name, arguments: args }],
})
export const run = (command: string, more: Record<string, unknown> = {}): ScriptedAnswer =>
  tool('terminal', { command, ...more })
export const finish: ScriptedAnswer = tool('finish', { message: 'all done' })

export const agentOf = (modelUrl: string) => ({
  kind: 'Agent',
  llm: { model: 'openai/scripted', base_url: `${modelUrl}/v1`, api_key: canary('llm_key'), num_retries: 0 },
  tools: [{ name: 'terminal' }, { name: 'file_editor' }, { name: 'task_tracker' }],
})

/** Starts a conversation with a message and returns its id. */
export async function startOn(
  server: Pick<ServerProcess, 'call'>,
  { workspace, agent, text = 'go' }: { workspace: object; agent: object; text?: string },
): Promise<string> {
  const initial_message = { content: [{ type: 'text', text }] }
  const { status, body } = await server.call('POST', '/api/conversations', { workspace, agent, initial_message })
  expect([status, body]).toMatchObject([201, {}])
  return body.id
}

/** All events of a conversation, oldest first. */
export async function eventsOf(server: Pick<ServerProcess, 'call'>, id: string): Promise<any[]> {
  const { body } = await server.call('GET', `/api/conversations/${id}/events/search?limit=100&sort_order=TIMESTAMP`)
  return body.items
}
