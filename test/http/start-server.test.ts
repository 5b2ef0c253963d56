import { expect, test } from 'vitest'
import { readConfig, startServer } from '../../packages/server/src/index.ts'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { WebSocket } from 'ws'
import { storeSettings } from '../../packages/server/testing/store-choice.ts'

test('a started server creates its first key, runs a turn, and streams it to a reader', async () => {
  await using dir = await tempDir()
  await using model = await startScriptedModel({
    answers: [
      { toolCalls: [{ name: 'terminal', arguments: { command: 'echo from the terminal' } }] },
      { toolCalls: [{ name: 'finish', arguments: { message: 'all done' } }] },
    ],
  })
  const flags = { port: '0', 'data-dir': dir.file('data'), 'log-level': 'silent', 'allow-root': true }
  const { config } = readConfig({
    flags,
    env: { PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '5', ...(await storeSettings(dir.file('data'))) },
    cwd: dir.path,
    home: dir.path,
  })
  await using server = await startServer(config)
  const key = server.firstKey?.key ?? ''
  expect(key.length).toBeGreaterThan(20)
  const headers = { 'x-session-api-key': key, 'content-type': 'application/json' }
  const created = await fetch(`${server.url}/api/conversations`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      workspace: { working_dir: dir.file('work') },
      autotitle: false,
      agent: {
        kind: 'Agent',
        llm: { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: canary('llm_key'), num_retries: 0 },
        tools: [{ name: 'terminal' }],
      },
    }),
  })
  const { id } = (await created.json()) as { id: string }
  expect(created.status).toBe(201)

  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/sockets/events/${id}?session_api_key=${key}`)
  const kinds: string[] = []
  const finished = new Promise<void>((resolve, reject) => {
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as { kind: string; key?: string; value?: { execution_status?: string } }
      kinds.push(frame.kind)
      if (frame.key !== 'full_state') return
      if (frame.value?.execution_status === 'idle')
        socket.send(JSON.stringify({ role: 'user', content: [{ type: 'text', text: 'go' }] }))
      if (frame.value?.execution_status === 'finished') resolve()
      if (frame.value?.execution_status === 'error') reject(new Error('the run failed'))
    })
  })
  await finished
  socket.close()
  expect(kinds.filter((kind) => kind === 'ObservationEvent')).toHaveLength(2)
  const answer = await fetch(`${server.url}/api/conversations/${id}/agent_final_response`, { headers })
  expect(await answer.json()).toEqual({ response: 'all done' })
  expect(
    (await fetch(`${server.url}/api/conversations/${id}`, { headers: { 'x-session-api-key': 'wrong' } })).status,
  ).toBe(401)
})
