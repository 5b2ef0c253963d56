/**
 * One server gets every canary in a place for such a secret, and then works, fails and sends data: everything it wrote
 * and sent is
 * searched (setup.ts), and here also text that only forms when chunks are joined.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inflateRawSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { scan } from '../../packages/server/testing/canaries/scan.ts'
import { canary, CANARY_NAMES, type CanaryName } from '../../packages/server/testing/canaries/values.ts'
import { outsider, searchData, takeHits } from '../../packages/server/testing/canaries/watch.ts'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { TEST_KEY } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { startWebhookReceiver } from '../../packages/server/testing/webhook-receiver.ts'
import { until } from '../../packages/server/testing/until.ts'
import { serve, type Loose, type Serving } from '../../packages/server/testing/multi-user-server.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const run = (command: string): ScriptedAnswer => ({ toolCalls: [{ name: 'terminal', arguments: { command } }] })

/** Commands that handle their secrets carelessly. */
const COMMANDS = [
  // The command gets the exact value, and every printed form of it is masked.
  'printf %s "$USER_SECRET" | sha256sum; echo "plain $USER_SECRET"; printf %s "$USER_SECRET" | base64 -w0; echo',
  'printf %s "$OWN_SECRET" | sha256sum; echo "own $OWN_SECRET"; printf %s "$LOOKED_UP" | sha256sum; echo "looked up $LOOKED_UP"',
  // Longer than an observation, so that the whole of it is saved to a file.
  'yes "many $USER_SECRET" | head -n 3000; yes "many $USER_SECRET_2" | head -n 10',
  // Secrets are not in a history, in the arguments of any process or in a trace of the shell.
  'echo "hist [$HISTFILE]"; history; cat ~/.bash_history 2>&1 | grep -c "Canar[y]7Qx"; grep -slE "Canar[y]7Qx" /proc/[0-9]*/cmdline; : "$GITHUB_TOKEN"; echo argv-seen',
  'set -x; : "$USER_SECRET"; set +x; false "$LOOKED_UP"',
]

/** Repeats the secrets it knows, in chunks of a few letters, after running the commands. */
const saying = (): ScriptedAnswer => ({
  reasoning: `I know ${canary('user_secret')} and ${canary('llm_key')}.`,
  text: `The keys are ${canary('llm_key')}, ${canary('user_secret_2')} and ${canary('conversation_secret')}!`,
  chunkSize: 7,
})

async function startVault() {
  const vault = createServer((request, response) => {
    const isAllowed = request.headers['authorization'] === `Bearer ${canary('lookup_header')}`
    response.writeHead(isAllowed ? 200 : 401).end(isAllowed ? canary('lookup_answer') : 'no')
  }).listen(0, '127.0.0.1')
  await once(vault, 'listening')
  outsider('a vault', vault)
  const host = `127.0.0.1:${(vault.address() as AddressInfo).port}`
  return {
    host,
    async [Symbol.asyncDispose]() {
      vault.closeAllConnections()
      vault.close()
      await once(vault, 'close')
    },
  }
}

/** Stores settings, profile and secrets of the user `default`. */
async function keep({ call }: Serving, modelUrl: string): Promise<void> {
  const made = async (method: string, path: string, body: object) => {
    const { status, text } = await call(method, path, body)
    expect([path, status, text]).toEqual([path, expect.toSatisfy((code: number) => code < 300), expect.any(String)])
  }
  await made('POST', '/api/settings', {
    llm_model: 'openai/scripted',
    llm_base_url: `${modelUrl}/v1`,
    llm_api_key: canary('llm_key'),
    search_api_key: canary('search_key'),
    mcp_config: { sse_servers: [{ url: 'http://127.0.0.1:9/sse', api_key: canary('mcp_header') }] },
    secrets_store: { provider_tokens: { git_host_1: { token: canary('git_token') } } },
  })
  const profile = { model: 'openai/other', base_url: `${modelUrl}/v1`, api_key: canary('profile_key'), num_retries: 0 }
  await made('POST', '/api/profiles/other', { llm: profile })
  await made('POST', '/api/secrets', { name: 'USER_SECRET', value: canary('user_secret') })
  await made('PUT', '/api/settings/secrets', { name: 'USER_SECRET_2', value: canary('user_secret_2') })
}

/** The body of a conversation with the remaining secrets. */
const starting = (modelUrl: string, vaultHost: string, workingDir: string, more: object = {}) => ({
  workspace: { working_dir: workingDir },
  agent: {
    kind: 'Agent',
    llm: {
      model: 'openai/scripted',
      base_url: `${modelUrl}/v1`,
      api_key: canary('llm_key'),
      num_retries: 0,
      stream: true,
    },
    tools: [{ name: 'terminal' }],
  },
  security_analyzer: {
    kind: 'EnsembleSecurityAnalyzer',
    analyzers: [
      { kind: 'PatternSecurityAnalyzer' },
      { kind: 'VendorAnalyzer', api_url: 'http://127.0.0.1:9/', api_key: canary('vendor_key'), timeout: 1 },
      {
        kind: 'GuardrailLLMSecurityAnalyzer',
        llm: {
          model: 'openai/guard',
          base_url: 'http://127.0.0.1:9',
          api_key: canary('guardrail_key'),
          num_retries: 0,
        },
      },
    ],
  },
  secrets: {
    OWN_SECRET: canary('conversation_secret'),
    OWN_SECRET_2: { kind: 'StaticSecret', value: canary('conversation_secret_2') },
    LOOKED_UP: {
      kind: 'LookupSecret',
      url: `http://${vaultHost}/value`,
      headers: { Authorization: `Bearer ${canary('lookup_header')}` },
    },
  },
  autotitle: false,
  ...more,
})

/** The frames that a reader of a stream received, joined. */
type Seen = { frames: Loose[]; close(): void }

async function watchSocket(url: string, id: string): Promise<Seen> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/sockets/events/${id}`)
  const frames: Loose[] = []
  socket.addEventListener('message', ({ data }) => frames.push(JSON.parse(String(data))))
  await once(socket, 'open', { signal: AbortSignal.timeout(20_000) })
  socket.send(JSON.stringify({ type: 'auth', session_api_key: TEST_KEY }))
  await until(() => frames.length > 0)
  return { frames, close: () => socket.close() }
}

async function watchStream(url: string, id: string): Promise<Seen> {
  const away = new AbortController()
  const answer = await fetch(`${url}/api/conversations/${id}/events/stream`, {
    headers: { 'X-Session-API-Key': TEST_KEY },
    signal: away.signal,
  })
  const frames: Loose[] = []
  const reading = async () => {
    let rest = ''
    for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + text).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const data = /^data: (.*)$/m.exec(block)?.[1]
        if (data !== undefined) frames.push(JSON.parse(data))
      }
    }
  }
  reading().catch(() => undefined)
  await until(() => frames.length > 0)
  return { frames, close: () => away.abort() }
}

/** The texts of a zip archive whose entries follow each other. */
function unzipped(bytes: Buffer): string {
  const texts: string[] = []
  for (let at = bytes.indexOf('PK\x03\x04'); at !== -1; at = bytes.indexOf('PK\x03\x04', at + 4)) {
    const from = at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28)
    texts.push(inflateRawSync(bytes.subarray(from), { finishFlush: 2 }).toString())
  }
  return texts.join('\n')
}

const infoOf = async ({ call }: Serving, id: string): Promise<Loose> =>
  (await call('GET', `/api/conversations/${id}`)).json
const eventsOf = async ({ call }: Serving, id: string): Promise<Loose[]> =>
  (await call('GET', `/api/conversations/${id}/events/search?limit=100`)).json.items
const rests = (serving: Serving, id: string) =>
  until(async () => !['idle', 'running'].includes((await infoOf(serving, id)).execution_status))
const say = ({ call }: Serving, id: string, text: string) =>
  call('POST', `/api/conversations/${id}/events`, { content: [{ type: 'text', text }], run: true })

test('20 canaries in every place that a secret can be given: none is written or sent anywhere', async () => {
  await using dir = await tempDir()
  await using vault = await startVault()
  await using receiver = await startWebhookReceiver({ secret: canary('webhook_secret') })
  await using model = await startScriptedModel({
    respond: ({ view, text, headers }) => {
      // Providers repeat the key in the message of an error.
      if (text.includes('make it fail'))
        return { status: 401, error: `Incorrect API key provided: ${headers['authorization']}` }
      if (view.tools.length === 0) return { text: `It is ${canary('user_secret_2')}.` }
      const command = COMMANDS[view.assistantTurns]
      return command === undefined ? saying() : run(command)
    },
  })
  const target = { base_url: receiver.url, secret: canary('webhook_secret'), events: true, flush_delay: 0.05 }
  await using serving = await serve(dir.file('data'), {
    PARLEY_SESSION_API_KEYS: `${TEST_KEY},${canary('other_session_key')}`,
    PARLEY_SECRET_KEY: canary('server_secret_key'),
    PARLEY_SECRET_LOOKUP_HOSTS: vault.host,
    PARLEY_WEBHOOKS: JSON.stringify([{ ...target, headers: { 'X-Receiver-Key': canary('webhook_header') } }]),
    PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '5',
    // The wait for the agent server that cannot be reached.
    PARLEY_START_DEADLINES: '{"workspace":2}',
  })
  const { call, server } = serving
  await keep(serving, model.url)
  const work = dir.file('work')
  await mkdir(work)

  // The conversation runs, and streams are read.
  const { json: made } = await call('POST', '/api/conversations', starting(model.url, vault.host, work))
  const id = made.id as string
  const at = `/api/conversations/${id}`
  const watchers = [await watchSocket(server.url, id), await watchStream(server.url, id)]
  await say(serving, id, `go, and remember ${canary('user_secret_2')} and ${canary('conversation_secret_2')}`)
  await rests(serving, id)
  const info = await infoOf(serving, id)
  expect(info.execution_status).toBe('finished')
  const outputs = (await eventsOf(serving, id))
    .filter(({ kind, tool_name }) => kind === 'ObservationEvent' && tool_name === 'terminal')
    .map(({ observation }) => observation.content.map(({ text }: Loose) => text).join(''))
  const [printed, own, long, looked] = outputs
  expect(printed).toContain(sha256(canary('user_secret')))
  expect(printed).toMatch(/plain <secret-hidden>\s+<secret-hidden>/)
  expect(own).toContain(sha256(canary('conversation_secret')))
  expect(own).toContain(sha256(canary('lookup_answer')))
  expect(own).toMatch(/own <secret-hidden>[\s\S]*looked up <secret-hidden>/)
  const kept = /The whole output is in (\S+\.txt);/.exec(long)?.[1]
  expect(await readFile(kept!, 'utf8')).toMatch(/^many <secret-hidden>\s/)
  expect(looked).toMatch(/^hist \[\]\s[\s\S]*\n0\s+argv-seen\s*$/)
  expect(looked).not.toContain('USER_SECRET')

  // The streamed answer, joined from its deltas.
  for (const { frames } of watchers) {
    const said = (member: string) => frames.map((frame) => String(frame[member] ?? '')).join('')
    await until(() => said('content').includes('!'))
    expect(said('content')).toBe('The keys are <secret-hidden>, <secret-hidden> and <secret-hidden>!')
    expect(said('reasoning_content')).not.toContain('Canary')
  }

  // The conversation is questioned, forked, exported, and read by keys with limited rights.
  expect((await call('POST', `${at}/ask_agent`, { question: 'what is it?' })).text).not.toContain('Canary')
  const fork = (await call('POST', `${at}/fork`, {})).json
  expect(Object.keys(fork.secret_registry.secret_sources).toSorted()).toEqual([
    'LOOKED_UP',
    'OWN_SECRET',
    'OWN_SECRET_2',
  ])
  await call('GET', `${at}/trajectory`)
  const archive = await fetch(`${server.url}/api/file/download-trajectory/${id}`, {
    headers: { 'X-Session-API-Key': TEST_KEY },
  })
  const text = unzipped(Buffer.from(await archive.arrayBuffer()))
  expect(text).toContain('<secret-hidden>')
  expect(scan(text)).toEqual([])
  for (const path of ['/api/settings', '/api/profiles/other', at]) {
    const { text: tokens } = await call('GET', path, undefined, { headers: { 'X-Expose-Secrets': 'encrypted' } })
    expect(tokens).toContain('gAAAAA')
  }

  // The conversation fails: the model refuses with the key in its message, and callers send invalid data with secrets
  // in it.
  const content = [{ type: 'text', text: `make it fail, and keep ${canary('user_secret')} to yourself` }]
  const first = starting(model.url, vault.host, work, { initial_message: { content } })
  const failing = (await call('POST', '/api/conversations', first)).json.id
  await rests(serving, failing)
  expect(JSON.stringify(await eventsOf(serving, failing))).toMatch(/API key provided: Bearer <(api key|secret-hidden)>/)
  await call('POST', `${at}/switch_profile`, { profile_name: 'other' })
  await say(serving, id, 'make it fail')
  await rests(serving, id)
  const refused = [
    await call('POST', '/api/secrets', { name: 7, value: canary('user_secret') }),
    await call('POST', '/api/secrets', { name: 'USER_SECRET', value: canary('user_secret_2') }),
    await call('POST', '/api/secrets', `{"name": "X", "value": "${canary('user_secret_2')}"`),
    await call('POST', '/api/settings', { llm_api_key: { deep: canary('llm_key') }, language: 5 }),
    await call('POST', `${at}/secrets`, { secrets: { 'no name': canary('conversation_secret') } }),
    await call('POST', `${at}/secrets`, {
      secrets: { A: { kind: 'LookupSecret', url: 'http://h/', headers: { Authorization: canary('lookup_header') } } },
    }),
    await call('POST', '/api/conversations', starting(model.url, vault.host, work, { max_iterations: 'x' })),
    await call('POST', '/api/conversations', {
      agent: { kind: 'Agent', llm: { api_key: [canary('llm_key')] }, mcp_config: { s: { env: canary('mcp_env') } } },
    }),
    await call('POST', '/api/conversations', {
      workspace: { kind: 'RemoteWorkspace', host: 5, working_dir: '/x', api_key: canary('remote_key') },
    }),
    await call('GET', '/api/settings', undefined, { key: canary('remote_key') }),
    await call('GET', `/api/conversations?session_api_key=${canary('other_session_key')}`, undefined, { key: null }),
  ]
  expect(refused.map(({ status }) => status).every((status) => status >= 400 && status < 500)).toBe(true)
  const socket = new WebSocket(
    `${server.url.replace('http', 'ws')}/sockets/events/${id}?session_api_key=${canary('other_session_key')}`,
  )
  await once(socket, 'open', { signal: AbortSignal.timeout(20_000) })
  socket.close()

  // An unreachable agent server, with its key.
  const workspace = {
    kind: 'RemoteWorkspace',
    host: 'http://127.0.0.1:9',
    working_dir: '/x',
    api_key: canary('remote_key'),
  }
  const mcp_config = { s: { command: 'true', env: { API_TOKEN: canary('mcp_env') }, enabled: false } }
  const { agent } = starting(model.url, vault.host, work)
  const away = await call('POST', '/api/conversations', {
    workspace,
    agent: { ...agent, mcp_config },
    autotitle: false,
  })
  expect(away.status).toBe(201)
  // Kept until a start succeeds, and none does.
  await say(serving, away.json.id, `go, with ${canary('user_secret')} and ${canary('remote_key')}`)
  await until(async () => JSON.stringify(await infoOf(serving, away.json.id)).includes('"error"'))

  // The server delivers everything by webhook, is killed, and restarts.
  await until(() => receiver.about(id).length > 3)
  for (const { close } of watchers) close()
  await server.kill()
  await using again = await serve(dir.file('data'), { PARLEY_SECRET_KEY: canary('server_secret_key') })
  expect((await infoOf(again, id)).secret_registry.secret_sources.OWN_SECRET.value).toBeNull()
  await searchData(dir.path)
  expect(takeHits()).toEqual([])
  expect(server.stderr().length).toBeGreaterThan(1_000)
  // No secret was omitted from this test by mistake.
  const source = await readFile(new URL(import.meta.url), 'utf8')
  const unused = CANARY_NAMES.filter(
    (name: CanaryName) => name !== 'session_key' && !source.includes(`canary('${name}')`),
  )
  expect(unused).toEqual([])
}, 120_000)
