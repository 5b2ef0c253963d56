import { execFileSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess, TEST_KEY, type ServerProcess } from '../../packages/server/testing/server-process.ts'
import { shareServer } from '../../packages/server/testing/shared-server.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import {
  answer,
  terminal,
  finish,
  infoOf,
  rested,
  eventsOf,
  progressOf,
  callsOf,
  textsOf,
  record,
  play,
  exported,
  type Loose,
} from '../../packages/server/testing/replays.ts'

const shared = shareServer()

describe('replay of an export', () => {
  const files = (dir: string) => ({ path: join(dir, 'recorded', 'greeting.txt') })
  const script = (dir: string) => [
    answer('I look around.', terminal('pwd; cat notes.txt; echo pid $$ $(date +%T) $(mktemp -u)')),
    answer('', { name: 'file_editor', arguments: { command: 'create', ...files(dir), file_text: 'hello\nthere\n' } }),
    answer('', { name: 'file_editor', arguments: { command: 'view', ...files(dir) } }),
    answer('', {
      name: 'file_editor',
      arguments: { command: 'str_replace', ...files(dir), old_str: 'there', new_str: 'world' },
    }),
    answer('', {
      name: 'task_tracker',
      arguments: { command: 'plan', task_list: [{ title: 'greet', status: 'done' }] },
    }),
    answer('Two at once.', terminal(`cat ${files(dir).path}; (exit 3)`), {
      name: 'think',
      arguments: { thought: 'hm' },
    }),
    answer(
      '',
      { name: 'fetch', arguments: { url: 'https://a.example' } },
      { name: 'terminal', arguments: '{"command":' },
    ),
    finish('first'),
    answer('I say a word.'),
    answer('', terminal('echo more >> greeting.txt; cat greeting.txt notes.txt')),
    finish('second'),
  ]

  async function recorded(server: ServerProcess, dir: string) {
    await mkdir(join(dir, 'recorded'), { recursive: true })
    await writeFile(join(dir, 'recorded', 'notes.txt'), 'a note\n')
    return record(server, dir, script(dir), ['go', 'and then?', 'go on'])
  }

  test('a replay repeats an export in a fresh workspace without a model and finds no divergence', async () => {
    await using dir = await tempDir()
    const { server, dataDir } = shared()
    const original = await recorded(server, dir.path)
    expect(await readFile(files(dir.path).path, 'utf8')).toBe('hello\nworld\nmore\n')
    const before = await eventsOf(server, original)
    let newest = ''
    for (const format of ['events', 'v0']) {
      const recording = await exported(server, original, format)
      const played = await play(server, dataDir, recording, { files: { 'notes.txt': 'a note\n' } })
      newest = played.id
      expect(await rested(server, newest)).toBe('finished')
      const events = await eventsOf(server, played.id)
      expect(progressOf(events), format).toMatchObject({ divergences: 0, first_divergence: null })
      expect(progressOf(events).position).toBe(progressOf(events).total)
      const calls = JSON.stringify(callsOf(before)).replaceAll(dir.file('recorded'), played.workspace)
      // The older format has no malformed calls: its arguments are an object.
      if (format === 'events') expect(callsOf(events)).toEqual(JSON.parse(calls))
      expect(textsOf(events)).toEqual(textsOf(before))
      expect(await readFile(join(played.workspace, 'greeting.txt'), 'utf8')).toBe('hello\nworld\nmore\n')
    }
    expect(await readFile(files(dir.path).path, 'utf8')).toBe('hello\nworld\nmore\n')

    // The replay costs nothing and is counted separately from the model that answers later.
    const { stats } = await infoOf(server, newest)
    expect(Object.keys(stats.usage_to_metrics)).toEqual(['replay'])
    expect(stats.usage_to_metrics.replay.accumulated_cost).toBe(0)
  }, 60_000)

  test('a replay reports the first result that differs and continues, or stops there on request', async () => {
    await using dir = await tempDir()
    const { server, dataDir } = shared()
    const recording = await exported(server, await recorded(server, dir.path))
    const results = recording.trajectory.map(({ kind, observation }: Loose) => `${kind} ${observation?.command ?? ''}`)
    const first = results.findIndex((result: string) => result.startsWith('ObservationEvent pwd'))
    const changed = { files: { 'notes.txt': 'another note\n' } }

    const { id } = await play(server, dataDir, recording.trajectory, changed)
    expect(await rested(server, id)).toBe('finished')
    const events = await eventsOf(server, id)
    const progress = progressOf(events)
    expect(progress).toMatchObject({ divergences: 2, first_divergence: { index: first, kind: 'output' } })
    expect(progress.first_divergence.expected).toContain('a note')
    expect(progress.first_divergence.actual).toContain('another note')
    const at = events.findIndex(({ value }) => value?.divergences === 1)
    expect(events[at - 1]).toMatchObject({ kind: 'ObservationEvent', tool_name: 'terminal' })

    const query = '?replay_stop_on_divergence=true'
    const stopping = await play(server, dataDir, recording, { ...changed, query })
    expect(await rested(server, stopping.id)).toBe('paused')
    const halted = await eventsOf(server, stopping.id)
    expect(progressOf(halted)).toMatchObject({ position: 1, divergences: 1, first_divergence: { index: first } })
    expect(callsOf(halted)).toHaveLength(1)
    expect((await server.call('POST', `/api/conversations/${stopping.id}/run`)).status).toBe(200)
    await until(async () => (await infoOf(server, stopping.id)).execution_status === 'finished')
    expect(progressOf(await eventsOf(server, stopping.id))).toMatchObject({
      divergences: 2,
      first_divergence: { index: first },
    })
  }, 60_000)

  test('a call that a person rejected is rejected again without a confirmation', async () => {
    await using dir = await tempDir()
    const { server, dataDir } = shared()
    const script = [answer('', terminal('touch dangerous')), finish()]
    const original = await record(server, dir.path, script, ['go'], { confirmation_policy: { kind: 'AlwaysConfirm' } })
    const answered = { accept: false, reason: 'not that' }
    await server.call('POST', `/api/conversations/${original}/events/respond_to_confirmation`, answered)
    await until(async () => (await infoOf(server, original)).execution_status === 'idle')
    await server.call('POST', `/api/conversations/${original}/run`)
    await until(async () => (await infoOf(server, original)).execution_status === 'finished')
    for (const format of ['events', 'v0']) {
      const played = await play(server, dataDir, await exported(server, original, format))
      expect(await rested(server, played.id)).toBe('finished')
      const events = await eventsOf(server, played.id)
      expect(events.find(({ kind }) => kind === 'UserRejectObservation')).toMatchObject({
        rejection_reason: 'not that',
        rejection_source: 'user',
      })
      expect(progressOf(events)).toMatchObject({ divergences: 0 })
      await expect(readFile(join(played.workspace, 'dangerous'))).rejects.toThrow('ENOENT')
    }
  }, 60_000)

  test('an export of an unknown conversation returns 404', async () => {
    const { server } = shared()
    const unknown = crypto.randomUUID()
    for (const path of [`/api/conversations/${unknown}/trajectory`, `/api/file/download-trajectory/${unknown}`]) {
      expect(await server.call('GET', path)).toEqual({ status: 404, body: { detail: 'Conversation not found' } })
    }
  })

  test('the archive of an export holds the whole log and the state without secrets', async () => {
    await using dir = await tempDir()
    const { server } = shared()
    const id = await record(server, dir.path, [answer('', terminal('echo hi')), finish()])
    const response = await fetch(`${server.url}/api/file/download-trajectory/${id}`, {
      headers: { 'X-Session-API-Key': TEST_KEY },
    })
    expect(response.headers.get('content-type')).toBe('application/zip')
    expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${id.replaceAll('-', '')}.zip"`)
    await writeFile(dir.file('a.zip'), new Uint8Array(await response.arrayBuffer()))
    execFileSync('unzip', ['-q', dir.file('a.zip'), '-d', dir.file('unpacked')])
    const state = JSON.parse(await readFile(dir.file('unpacked', 'base_state.json'), 'utf8'))
    expect(state).toMatchObject({ id, execution_status: 'finished', agent: { llm: { api_key: null } } })
    const events = await eventsOf(server, id)
    for (const [index, event] of events.entries()) {
      const name = `event-${String(index).padStart(5, '0')}-${event.id}.json`
      expect(JSON.parse(await readFile(dir.file('unpacked', 'events', name), 'utf8'))).toMatchObject(event)
    }
  })
})

describe('end of the recording', () => {
  const recording = [
    { source: 'user', action: 'message', args: { content: 'go' } },
    { source: 'agent', action: 'run', args: { command: 'echo recorded' } },
  ]

  test('after a replay the conversation continues with the configured model, which sees the replayed events', async () => {
    await using dir = await tempDir()
    const dataDir = dir.file('data')
    await using model = await startScriptedModel({ answers: [{ text: 'Now it is me.' }, { text: 'Still me.' }] })
    const env = {
      PARLEY_LLM_MODEL: 'openai/scripted',
      PARLEY_LLM_BASE_URL: `${model.url}/v1`,
      PARLEY_LLM_API_KEY: canary('llm_key'),
    }
    await using server = await startServerProcess({ dataDir, env })
    const { id } = await play(server, dataDir, recording)
    expect(await rested(server, id)).toBe('finished')
    expect(textsOf(await eventsOf(server, id))).toEqual(['user: go', 'agent: Now it is me.'])
    expect(model.requests).toHaveLength(1)
    expect(model.requests[0]!.text).toContain('echo recorded')
    expect(model.violations).toEqual([])

    await server.call('POST', `/api/conversations/${id}/events`, {
      content: [{ type: 'text', text: 'And?' }],
      run: true,
    })
    await until(async () => textsOf(await eventsOf(server, id)).includes('agent: Still me.'))
    const forked = await server.call('POST', `/api/conversations/${id}/fork`, {})
    expect(forked.status).toBe(201)
    expect(progressOf(await eventsOf(server, forked.body.id))).toBeUndefined()
  })

  test('after a replay without a model the run ends with an error, and the replayed part stays', async () => {
    const { server, dataDir } = shared()
    const { id } = await play(server, dataDir, recording)
    expect(await rested(server, id)).toBe('error')
    const events = await eventsOf(server, id)
    expect(callsOf(events)).toHaveLength(1)
    expect(events.findLast(({ kind }) => kind === 'ConversationErrorEvent')).toMatchObject({ code: 'LLMNotConfigured' })
  })
})

test('a replayed command that runs during a kill is attached to afterwards', async () => {
  await using dir = await tempDir()
  const dataDir = dir.file('data')
  const command = 'echo once >> trace; until [ -e go ]; do sleep 0.05; done; echo said'
  const slow = [
    { source: 'user', action: 'message', args: { content: 'go' } },
    { id: 1, source: 'agent', action: 'run', args: { command } },
    { cause: 1, source: 'agent', observation: 'run', content: 'said', extras: { metadata: { exit_code: 0 } } },
    { source: 'agent', action: 'finish', args: { final_thought: 'done' } },
  ]
  await using first = await startServerProcess({ dataDir })
  const { id, workspace } = await play(first, dataDir, slow)
  const trace = () => readFile(join(workspace, 'trace'), 'utf8').catch(() => '')
  await until(async () => (await trace()) === 'once\n')
  await first.kill()
  await using second = await startServerProcess({ dataDir })
  await writeFile(join(workspace, 'go'), '')
  await until(async () => (await infoOf(second, id)).execution_status === 'finished')
  expect(await trace()).toBe('once\n')
  expect(progressOf(await eventsOf(second, id))).toMatchObject({ position: 2, divergences: 0 })
  await second.call('DELETE', `/api/conversations/${id}`)
}, 60_000)
