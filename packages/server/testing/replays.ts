/** Helpers for replays: conversations that are recorded, exported and replayed. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { TEST_KEY, type ServerProcess } from './server-process.ts'
import { until } from './until.ts'
import { wholeLog } from './whole-log.ts'

export type Loose = ReturnType<typeof JSON.parse>
export type Call = { name: string; arguments: Record<string, unknown> | string }
export const answer = (text: string, ...tool_calls: Call[]) => ({ text, tool_calls })
export const terminal = (command: string): Call => ({ name: 'terminal', arguments: { command } })
export const finish = (message = 'all done') => answer('', { name: 'finish', arguments: { message } })

export const infoOf = async (server: ServerProcess, id: string): Promise<Loose> =>
  (await server.call('GET', `/api/conversations/${id}`)).body

/** Waits until a conversation does not run and returns its status. */
export async function rested(server: ServerProcess, id: string): Promise<string> {
  let status = ''
  await until(async () => {
    status = (await infoOf(server, id)).execution_status
    return !['idle', 'running'].includes(status)
  })
  return status
}

export const eventsOf = (server: ServerProcess, id: string): Promise<Loose[]> => wholeLog(server.url, id, TEST_KEY)

export const progressOf = (events: Loose[]): Loose => events.findLast(({ key }) => key === 'replay')?.value
export const callsOf = (events: Loose[]): Loose[] =>
  events.filter(({ kind }) => kind === 'ActionEvent').map(({ action, tool_name }) => ({ tool_name, ...action }))
export const textsOf = (events: Loose[]): string[] =>
  events
    .filter(({ kind }) => kind === 'MessageEvent')
    .map(({ source, llm_message }) => `${source}: ${llm_message.content[0]?.text}`)

/** Runs a script in its own directory and returns the id of the finished conversation. */
export async function record(
  server: ServerProcess,
  dir: string,
  script: unknown[],
  messages = ['go'],
  members: object = {},
) {
  const file = join(dir, `script-${crypto.randomUUID()}.json`)
  await writeFile(file, JSON.stringify(script))
  const started = await server.call('POST', '/api/conversations', {
    workspace: { working_dir: join(dir, 'recorded') },
    agent: {
      kind: 'Agent',
      llm: { model: `scripted/${file}` },
      tools: [{ name: 'terminal' }, { name: 'file_editor' }, { name: 'task_tracker' }],
    },
    initial_message: { content: [{ type: 'text', text: messages[0] }] },
    ...members,
  })
  expect(started.status).toBe(201)
  await rested(server, started.body.id)
  for (const text of messages.slice(1)) {
    await server.call('POST', `/api/conversations/${started.body.id}/events`, {
      content: [{ type: 'text', text }],
      run: true,
    })
    await rested(server, started.body.id)
  }
  return started.body.id as string
}

/** Starts a replay of `recording` in a workspace with `files`. */
export async function play(
  server: ServerProcess,
  dataDir: string,
  recording: unknown,
  { files = {}, query = '' }: { files?: Record<string, string>; query?: string } = {},
) {
  const id = crypto.randomUUID()
  const workspace = join(dataDir, 'workspaces', id)
  if (Object.keys(files).length > 0) {
    // The id is the user's own from now on, and so are the files in its folder.
    await server.call('POST', '/api/conversations', { conversation_id: id })
    await server.call('DELETE', `/api/conversations/${id}?workspace=keep`)
    await mkdir(workspace, { recursive: true })
  }
  for (const [name, content] of Object.entries(files)) await writeFile(join(workspace, name), content)
  const replay_json = typeof recording === 'string' ? recording : JSON.stringify(recording)
  const started = await server.call('POST', `/api/conversations${query}`, { conversation_id: id, replay_json })
  expect(started).toMatchObject({ status: 200, body: { conversation_id: id, conversation_status: 'STARTING' } })
  return { id, workspace }
}

export const exported = async (server: ServerProcess, id: string, format = 'events'): Promise<Loose> =>
  (await server.call('GET', `/api/conversations/${id}/trajectory?format=${format}`)).body
