import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startServerProcess, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { shareServer } from '../../packages/server/testing/shared-server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { infoOf, rested, eventsOf, progressOf, callsOf, textsOf, play } from '../../packages/server/testing/replays.ts'

const shared = shareServer()

describe('recordings in the older format', () => {
  const sample = (command = 'ls') => [
    { id: 0, source: 'agent', action: 'system', args: { content: 'You are an agent.' } },
    {
      id: 1,
      source: 'environment',
      observation: 'agent_state_changed',
      content: '',
      extras: { agent_state: 'running' },
    },
    {
      id: 2,
      source: 'user',
      timestamp: '2026-02-03T09:00:00',
      message: 'Add a test',
      action: 'message',
      args: { content: 'Add a test', image_urls: null, wait_for_response: false },
    },
    {
      id: 3,
      source: 'agent',
      action: 'run',
      message: 'Running command: ls',
      args: { command, thought: 'look around', is_confirmed: 'confirmed', keep_prompt: true },
      timeout: 120,
    },
    { id: 4, source: 'agent', observation: 'run', content: 'a.txt', extras: { command: 'ls', exit_code: 0 } },
    { id: 5, source: 'agent', action: 'finish', args: { final_thought: 'done', outputs: {}, task_completed: 'true' } },
  ]

  test('a recording in the older format runs its commands and ends with the same status', async () => {
    const { server, dataDir } = shared()
    const { id } = await play(server, dataDir, sample(), { files: { 'a.txt': '' } })
    expect(await rested(server, id)).toBe('finished')
    const events = await eventsOf(server, id)
    expect(callsOf(events)).toMatchObject([
      { tool_name: 'terminal', command: 'ls', timeout: 120 },
      { tool_name: 'finish', message: 'done' },
    ])
    expect(textsOf(events)).toEqual(['user: Add a test'])
    expect(events.find(({ kind }) => kind === 'ActionEvent').thought[0].text).toBe('look around')
    expect(progressOf(events)).toMatchObject({ position: 2, total: 2, divergences: 0 })
    expect((await server.call('GET', `/api/conversations/${id}/agent_final_response`)).body).toEqual({
      response: 'done',
    })
  })

  test('every action of the older format is mapped: edits to the file editor, paths to the new workspace, the rest to a refusal', async () => {
    const { server, dataDir } = shared()
    const path = '/workspace/sub/a.txt'
    const metadata = { exit_code: 0, pid: 12, working_dir: '/workspace' }
    const recording = [
      { source: 'user', action: 'message', args: { content: 'Look', images_urls: ['https://a.example/1.png'] } },
      { id: 1, source: 'agent', action: 'run', args: { command: 'mkdir -p /workspace/sub && cd /workspace && pwd' } },
      { id: 2, cause: 1, source: 'agent', observation: 'run', content: '/workspace', extras: { metadata } },
      { id: 3, source: 'agent', action: 'write', args: { path, content: 'one\n', start: 0, end: -1 } },
      { id: 4, cause: 3, source: 'agent', observation: 'write', content: '', extras: { path } },
      { id: 5, source: 'agent', action: 'edit', args: { path, command: 'insert', insert_line: 1, new_str: 'two\n' } },
      {
        id: 6,
        cause: 5,
        source: 'agent',
        observation: 'edit',
        content: '',
        extras: { path, new_content: 'one\ntwo\n' },
      },
      { id: 7, source: 'agent', action: 'read', args: { path: 'sub/a.txt', start: 1, end: -1 } },
      { id: 8, cause: 7, source: 'agent', observation: 'read', content: 'two', extras: { path } },
      { id: 9, source: 'agent', action: 'think', args: { thought: 'well' } },
      { id: 10, source: 'agent', action: 'recall', args: { query: 'x' } },
      {
        id: 11,
        source: 'agent',
        action: 'task_tracking',
        args: { command: 'plan', task_list: [{ id: '1', title: 't', status: 'todo' }] },
      },
      { id: 12, source: 'agent', action: 'browse', args: { url: 'https://a.example' } },
      { id: 13, cause: 12, source: 'agent', observation: 'browse', content: 'a page', extras: {} },
      { id: 14, source: 'agent', action: 'call_tool_mcp', args: { name: 'git', arguments: { command: 'status' } } },
      { cause: 14, source: 'agent', observation: 'mcp', content: 'clean', extras: {} },
      { id: 15, source: 'agent', action: 'message', args: { content: 'Shall I?', wait_for_response: true } },
      { id: 16, source: 'user', action: 'message', args: { content: 'Yes' } },
      { id: 17, source: 'agent', action: 'message', args: { content: 'Good.', wait_for_response: true } },
    ]
    const { id, workspace } = await play(server, dataDir, { trajectory: recording })
    expect(await rested(server, id)).toBe('finished')
    const events = await eventsOf(server, id)
    expect(callsOf(events).map(({ tool_name, command }) => `${tool_name} ${command ?? ''}`)).toEqual([
      `terminal mkdir -p ${workspace}/sub && cd ${workspace} && pwd`,
      'file_editor create',
      'file_editor insert',
      'file_editor view',
      'think ',
      'task_tracker plan',
      'browse ',
      'call_tool_mcp ',
    ])
    expect(await readFile(join(workspace, 'sub', 'a.txt'), 'utf8')).toBe('one\ntwo\n')
    const errors = events.filter(({ kind }) => kind === 'AgentErrorEvent').map(({ error }) => error)
    expect(errors).toEqual([
      expect.stringContaining("Tool 'browse' not found"),
      expect.stringContaining("Tool 'call_tool_mcp' not found"),
    ])
    expect(progressOf(events)).toMatchObject({ divergences: 2, first_divergence: { index: 13, kind: 'error' } })
    expect(textsOf(events)).toEqual(['user: Look', 'agent: Shall I?', 'user: Yes', 'agent: Good.'])
  })
})

describe('rules of a run in a replay', () => {
  const recording = [
    { source: 'user', action: 'message', args: { content: 'go' } },
    { id: 1, source: 'agent', action: 'run', args: { command: 'touch made' } },
    { cause: 1, source: 'agent', observation: 'run', content: '', extras: { metadata: { exit_code: 0 } } },
    { id: 2, source: 'agent', action: 'run', args: { command: 'ls' } },
    { cause: 2, source: 'agent', observation: 'run', content: 'made', extras: { metadata: { exit_code: 0 } } },
    { source: 'agent', action: 'finish', args: { final_thought: 'done' } },
  ]
  const respond = (server: ServerProcess, id: string, accept: boolean) =>
    server.call('POST', `/api/conversations/${id}/events/respond_to_confirmation`, { accept, reason: 'no' })

  test('a replayed call waits for a confirmation of the policy, and its rejection is a divergence', async () => {
    // A server of its own, because its settings change.
    await using dir = await tempDir()
    const dataDir = dir.file('data')
    await using server = await startServerProcess({ dataDir })
    expect((await server.call('POST', '/api/settings', { confirmation_mode: true })).status).toBe(200)
    const { id, workspace } = await play(server, dataDir, recording)
    expect(await rested(server, id)).toBe('waiting_for_confirmation')
    expect((await respond(server, id, false)).status).toBe(200)
    await server.call('POST', `/api/conversations/${id}/run`)
    await until(async () => (await infoOf(server, id)).execution_status === 'waiting_for_confirmation')
    const progress = progressOf(await eventsOf(server, id))
    expect(progress).toMatchObject({ position: 2, divergences: 1, first_divergence: { index: 2, kind: 'refused' } })
    await respond(server, id, true)
    await until(async () => (await infoOf(server, id)).execution_status === 'finished')
    expect(progressOf(await eventsOf(server, id))).toMatchObject({ position: 3, divergences: 2 })
    await expect(readFile(join(workspace, 'made'))).rejects.toThrow('ENOENT')
  }, 60_000)

  test('the iteration limit ends a replay, and the next run continues it', async () => {
    // A server of its own, because its settings change.
    await using dir = await tempDir()
    const dataDir = dir.file('data')
    await using server = await startServerProcess({ dataDir })
    await server.call('POST', '/api/settings', { max_iterations: 2 })
    const { id } = await play(server, dataDir, recording)
    expect(await rested(server, id)).toBe('error')
    const events = await eventsOf(server, id)
    expect(events.findLast(({ kind }) => kind === 'ConversationErrorEvent')).toMatchObject({
      code: 'MaxIterationsReached',
    })
    expect(progressOf(events)).toMatchObject({ position: 2, divergences: 0 })
    await server.call('POST', `/api/conversations/${id}/run`)
    await until(async () => (await infoOf(server, id)).execution_status === 'finished')
    expect(progressOf(await eventsOf(server, id))).toMatchObject({ position: 3, divergences: 0 })
  }, 60_000)

  test('navigation to another point of the conversation ends the replay', async () => {
    const { server, dataDir } = shared()
    const changed = recording.map((element) =>
      element.id === 2 ? { ...element, args: { command: 'ls; echo more' } } : element,
    )
    const { id } = await play(server, dataDir, changed, { query: '?replay_stop_on_divergence=true' })
    expect(await rested(server, id)).toBe('paused')
    const first = (await eventsOf(server, id)).find(({ kind }) => kind === 'MessageEvent')
    expect((await server.call('POST', `/api/conversations/${id}/navigate`, { event_id: first.id })).status).toBe(200)
    await server.call('POST', `/api/conversations/${id}/run`)
    await until(async () => (await infoOf(server, id)).execution_status === 'error')
    const events = await eventsOf(server, id)
    expect(events.findLast(({ kind }) => kind === 'ConversationErrorEvent')).toMatchObject({ code: 'LLMNotConfigured' })
    expect(callsOf(events)).toHaveLength(2)
  }, 60_000)
})
