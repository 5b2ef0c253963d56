/**
 * An ACP agent that follows a script, as a program with pipes. Run as `node scripted-acp-agent.ts <script.json>`. It writes its
 * messages (`.log`, one JSON line each, the first of each process with its environment) and its sessions (`.sessions`) next to
 * the script, so that several processes act as one agent.
 */
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

type Json = Record<string, any>

export type AcpStep =
  | { say: string }
  | { think: string }
  /** A raw session update, such as a `tool_call`. */
  | { update: Json }
  /** Requests permission and logs the answer; `allowed` are the steps after an approval. */
  | { permission: Json; options?: Json[]; allowed?: AcpStep[] }
  | { usage: Json }
  | { sleep: number }
  | { write: { file: string; text: string } }
  /** Waits until the file exists. */
  | { until: string }
  | { parallel: AcpStep[][] }
  /** Sends the tool names of the MCP server with this index. */
  | { tools: number }
  /** Calls a tool of that server and sends the result. */
  | { tool: { server: number; name: string } }
  | { noise: string }
  /** Writes to standard error. */
  | { grumble: string }
  /** Writes one line with this number of bytes. */
  | { flood: number }
  /** Sends another request to the client and logs the answer. */
  | { request: { method: string; params?: Json } }
  | { fail: { code: number; message: string; data?: unknown } }
  | { die: true }
  /** Does not answer; `deaf`: not even after a cancellation. */
  | { hang: true; deaf?: boolean }
  | { stop: string; usage?: Json; meta?: Json }

export type AcpScript = {
  name?: string
  /** Steps of each prompt, in order; the last is repeated. */
  turns?: AcpStep[][]
  /** Steps of a prompt to a fork of a session. */
  aside?: AcpStep[]
  authMethods?: Json[]
  /** Fails `authenticate` with this. */
  authFails?: Json
  capabilities?: Json
  /** Members of every result that opens a session. */
  session?: Json
  /** Fails `session/new` with this. */
  newFails?: Json
  /** Does not answer this method. */
  ignores?: string
  /** Fails requests of these methods. */
  fails?: Record<string, Json>
  /** Sent while a session is loaded. */
  replays?: Json[]
  firstLine?: string
}

const OPTIONS = [
  { optionId: 'always', name: 'Always', kind: 'allow_always' },
  { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
]

if (import.meta.main) main()

function main(): void {
  const path = process.argv[2]!
  const script = JSON.parse(readFileSync(path, 'utf8')) as AcpScript
  const waiting = new Map<number, (answer: Json) => void>()
  const cancelled = new Map<string, () => void>()
  const deaf = new Set<string>()
  const servers = new Map<string, Json[]>()
  let nextId = 1

  const log = (entry: Json) => appendFileSync(`${path}.log`, `${JSON.stringify({ ...entry, pid: process.pid })}\n`)
  const logLines = () => (existsSync(`${path}.log`) ? readFileSync(`${path}.log`, 'utf8').trimEnd().split('\n') : [])
  const known = (): string[] =>
    existsSync(`${path}.sessions`) ? JSON.parse(readFileSync(`${path}.sessions`, 'utf8')) : []
  const know = (id: string) => writeFileSync(`${path}.sessions`, JSON.stringify([...known(), id]))
  const send = (message: Json) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const request = (method: string, params: Json) => {
    const id = nextId++
    const { promise, resolve } = Promise.withResolvers<Json>()
    waiting.set(id, resolve)
    send({ id, method, params })
    return promise
  }
  const update = (sessionId: string, body: Json) =>
    send({ method: 'session/update', params: { sessionId, update: body } })

  log({ event: 'start', env: process.env, cwd: process.cwd(), argv: process.argv.slice(2) })
  if (script.firstLine !== undefined) process.stdout.write(`${script.firstLine}\n`)

  async function perform(sessionId: string, steps: readonly AcpStep[]): Promise<Json> {
    for (const step of steps) {
      if ('stop' in step) {
        const { stop: stopReason, usage, meta } = step
        return { result: { stopReason, ...(usage && { usage }), ...(meta && { _meta: meta }) } }
      } else if ('say' in step)
        update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: step.say } })
      else if ('think' in step)
        update(sessionId, { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: step.think } })
      else if ('update' in step) update(sessionId, step.update)
      else if ('usage' in step) update(sessionId, { sessionUpdate: 'usage_update', ...step.usage })
      else if ('sleep' in step) await sleep(step.sleep)
      else if ('noise' in step) process.stdout.write(`${step.noise}\n`)
      else if ('grumble' in step) process.stderr.write(`${step.grumble}\n`)
      else if ('flood' in step) process.stdout.write(`${'x'.repeat(step.flood)}\n`)
      else if ('request' in step) {
        const { method, params } = step.request
        const { result, error } = await request(method, { sessionId, ...params })
        log({ event: 'answered', asked: method, result, error })
      } else if ('write' in step) writeFileSync(step.write.file, step.write.text)
      else if ('until' in step) while (!existsSync(step.until)) await sleep(20)
      else if ('die' in step) process.kill(process.pid, 'SIGKILL')
      else if ('fail' in step) return { error: step.fail }
      else if ('tools' in step) {
        const { tools } = await mcp(servers.get(sessionId)?.[step.tools], 'tools/list', {})
        const names = tools.map(({ name }: Json) => name).join(' ')
        update(sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: `tools: ${names}` } })
      } else if ('tool' in step) {
        const answer = await mcp(servers.get(sessionId)?.[step.tool.server], 'tools/call', {
          name: step.tool.name,
          arguments: {},
        })
        update(sessionId, {
          sessionUpdate: 'agent_message_chunk',
          content: { type: 'text', text: JSON.stringify(answer) },
        })
      } else if ('parallel' in step) await Promise.all(step.parallel.map((each) => perform(sessionId, each)))
      else if ('permission' in step) {
        const params = { sessionId, toolCall: step.permission, options: step.options ?? OPTIONS }
        const { outcome } = (await request('session/request_permission', params))['result'] as Json
        log({ event: 'decided', call: step.permission['toolCallId'], outcome })
        if (outcome.optionId === 'yes') await perform(sessionId, step.allowed ?? [])
      } else if ('hang' in step) {
        if (step.deaf === true) deaf.add(sessionId)
        const { promise, resolve } = Promise.withResolvers<void>()
        cancelled.set(sessionId, resolve)
        await promise
        return { result: { stopReason: 'cancelled' } }
      }
    }
    return { result: { stopReason: 'end_turn' } }
  }

  async function answer(method: string, params: Json): Promise<Json | null> {
    if (script.ignores === method) return null
    const failure = script.fails?.[method]
    if (failure !== undefined) return { error: failure }
    const opened = (sessionId: string) => {
      servers.set(sessionId, params['mcpServers'] ?? [])
      return { ...script.session }
    }
    switch (method) {
      case 'initialize':
        return {
          result: {
            protocolVersion: 1,
            agentInfo: { name: script.name ?? 'scripted', version: '1.2.3' },
            authMethods: script.authMethods ?? [],
            agentCapabilities: {
              loadSession: true,
              sessionCapabilities: { fork: {}, close: {} },
              ...script.capabilities,
            },
          },
        }
      case 'authenticate':
        return script.authFails === undefined ? { result: {} } : { error: script.authFails }
      case 'session/new': {
        if (script.newFails !== undefined) return { error: script.newFails }
        const sessionId = `session-${known().length + 1}`
        know(sessionId)
        return { result: { sessionId, ...opened(sessionId) } }
      }
      case 'session/load':
      case 'session/resume': {
        const { sessionId } = params
        if (!known().includes(sessionId)) return { error: { code: -32002, message: 'session not found' } }
        if (method === 'session/load') for (const body of script.replays ?? []) update(sessionId, body)
        return { result: opened(sessionId) }
      }
      case 'session/fork':
        return { result: { sessionId: `copy-of-${params['sessionId']}` } }
      case 'session/prompt': {
        const { sessionId } = params
        if (String(sessionId).startsWith('copy-of-')) return perform(sessionId, script.aside ?? [])
        const turns = script.turns ?? [[{ say: 'hello' }]]
        const prompts = logLines().filter(
          (line) => line.includes('"method":"session/prompt"') && !line.includes('"copy-of-'),
        ).length
        return perform(sessionId, turns[Math.min(prompts, turns.length) - 1] ?? [])
      }
      default:
        return { result: {} }
    }
  }

  createInterface({ input: process.stdin })
    .on('line', (line) => {
      const message = JSON.parse(line) as Json
      log({
        method: message['method'],
        params: message['params'],
        ...(message['method'] === undefined && { answer: message }),
      })
      if (message['method'] === undefined) return waiting.get(message['id'])?.(message)
      if (message['method'] === 'session/cancel') {
        const id = message['params'].sessionId as string
        if (!deaf.has(id)) cancelled.get(id)?.()
        return
      }
      if (message['id'] === undefined) return
      void answer(message['method'], message['params']).then((result) => {
        if (result !== null) send({ id: message['id'], ...result })
      })
    })
    .on('close', () => process.exit(0))
}

/** Starts an MCP server, sends one request and ends it. */
async function mcp(server: Json | undefined, method: string, params: Json): Promise<Json> {
  const env = {
    ...process.env,
    ...Object.fromEntries((server?.['env'] ?? []).map(({ name, value }: Json) => [name, value])),
  }
  const child = spawn(server?.['command'], server?.['args'] ?? [], { env, stdio: ['pipe', 'pipe', 'ignore'] })
  const lines = createInterface({ input: child.stdout })
  const say = (message: Json) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const clientInfo = { name: 'scripted', version: '1' }
  say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } })
  for await (const line of lines) {
    const message = JSON.parse(line) as Json
    if (message['id'] === 1) {
      say({ method: 'notifications/initialized' })
      say({ id: 2, method, params })
    }
    if (message['id'] !== 2) continue
    child.kill()
    return (message['result'] ?? message['error']) as Json
  }
  throw new Error('the MCP server ended')
}
