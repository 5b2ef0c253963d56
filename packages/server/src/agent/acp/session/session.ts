/** Opens a session with a started agent: initialisation, login, MCP servers, model and mode. Source: agent-core.md 11.3, 11.4. */
import { createHash } from 'node:crypto'
import type { ACPAgent, ConfirmationPolicy } from '@parley/protocol'
import { expandServer } from '../../../tools/index.ts'
import type { Workspace } from '../../../workspace/index.ts'
import type { Log } from '../../agent.ts'
import type { Connection } from '../process/connection.ts'
import { detailOf, isRequestFailure } from '../failure.ts'
import { login } from './login.ts'
import { forwardedServers } from './mcp.ts'
import { modelsOf, switchRequests, type SessionModels } from './models.ts'
import { modesOf, wantedMode, type SessionModes } from './modes.ts'
import { providerOfName, type Provider } from '../providers.ts'

const PROTOCOL_VERSION = 1

/** A session that is ready for a prompt. */
export type Session = {
  id: string
  /** True when it remembers the prompts from before this start. */
  isResumed: boolean
  agentName: string | null
  agentVersion: string | null
  /** Derived from the agent's own name, or from its command line. */
  provider: Provider | null
  models: SessionModels
  /** True when the agent accepted `acp_model`. */
  isModelSet: boolean
  modes: SessionModes
  /** True when the session can be forked, for questions beside the conversation. */
  canFork: boolean
  takesImages: boolean
  cwd: string
}

export type AcpSessionDeps = {
  agent: ACPAgent
  policy: ConfirmationPolicy
  /** Id of a session that the agent may still know; null: none. */
  prior: string | null
  provider: Provider | null
  env: Readonly<Record<string, string>>
  /** Values for `${NAME}` in MCP servers. */
  secrets: Readonly<Record<string, string>>
  workspace: Pick<Workspace, 'exec' | 'workingDir'>
  log: Log
}

type Loose = Record<string, unknown>
const loose = (value: unknown): Loose => (typeof value === 'object' && value !== null ? (value as Loose) : {})
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** Initialises the connection, logs in, and resumes a session or starts one. @throws AcpFailure; the agent's own errors. */
export async function openSession(connection: Connection, deps: AcpSessionDeps, signal: AbortSignal): Promise<Session> {
  const { agent, env, workspace, log } = deps
  const initialized = await connection.request(
    'initialize',
    {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: 'parley', title: 'Parley', version: '1' },
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    },
    signal,
  )
  const info = loose(initialized['agentInfo'])
  const capabilities = loose(initialized['agentCapabilities'])
  const agentName = textOf(info['name'])
  const provider = providerOfName(agentName) ?? deps.provider
  const methods = Array.isArray(initialized['authMethods']) ? initialized['authMethods'] : []
  const offered = methods.flatMap((method: unknown) => textOf(loose(method)['id']) ?? [])
  await login(connection, { offered, env, workspace, log }, signal)

  const transports = loose(capabilities['mcpCapabilities'])
  const named = Object.entries(agent.mcp_config).map(
    ([name, server]) => [name, expandServer(server, deps.secrets)] as const,
  )
  const { servers, dropped } = forwardedServers(Object.fromEntries(named), {
    http: transports['http'] === true,
    sse: transports['sse'] === true,
    filter: agent.filter_tools_regex,
  })
  for (const { name, reason } of dropped)
    log.warn({ server: name, reason }, 'MCP server not passed to the external agent')
  const location = { cwd: workspace.workingDir, mcpServers: servers }
  const resumed = await resumeSession(connection, capabilities, deps.prior, location, log, signal)
  const answer =
    resumed?.answer ?? (await connection.request('session/new', { ...location, ...metaOf(agent, provider) }, signal))
  const id = resumed?.id ?? textOf(answer['sessionId'])
  if (id === null) throw new Error('the agent answered session/new without a session id')
  const session: Session = {
    id,
    isResumed: resumed !== null,
    agentName,
    agentVersion: textOf(info['version']),
    provider,
    models: modelsOf(answer),
    isModelSet: false,
    modes: modesOf(answer),
    canFork: loose(capabilities['sessionCapabilities'])['fork'] != null,
    cwd: workspace.workingDir,
    takesImages: loose(capabilities['promptCapabilities'])['image'] === true,
  }
  const withModel =
    agent.acp_model === null ? session : await tryModel(connection, session, agent.acp_model, log, signal)
  return setMode(connection, withModel, { named: agent.acp_session_mode, policy: deps.policy, log }, signal)
}

const metaOf = ({ acp_model }: ACPAgent, provider: Provider | null) =>
  acp_model === null || provider === null || provider.metaKey === null
    ? {}
    : { _meta: { [provider.metaKey]: { options: { model: acp_model } } } }

/** Resumes or loads the earlier session; null when there is none or the agent no longer has it. */
async function resumeSession(
  connection: Connection,
  capabilities: Loose,
  prior: string | null,
  location: object,
  log: Log,
  signal: AbortSignal,
): Promise<{ id: string; answer: Loose } | null> {
  if (prior === null) return null
  const methods: string[] = []
  if (loose(capabilities['sessionCapabilities'])['resume'] != null) methods.push('session/resume')
  if (capabilities['loadSession'] === true) methods.push('session/load')
  for (const method of methods) {
    try {
      return { id: prior, answer: await connection.request(method, { sessionId: prior, ...location }, signal) }
    } catch (error) {
      if (!isRequestFailure(error)) throw error
      const session = createHash('sha256').update(prior).digest('hex').slice(0, 8)
      log.warn({ session, method, reason: detailOf(error) }, 'session not resumed by the external agent')
    }
  }
  return null
}

/** Sets the model; when the agent refuses it, the session keeps the agent's own model. */
async function tryModel(
  connection: Connection,
  session: Session,
  model: string,
  log: Log,
  signal: AbortSignal,
): Promise<Session> {
  try {
    return { ...(await setModel(connection, session, model, signal)), isModelSet: true }
  } catch (error) {
    if (!isRequestFailure(error)) throw error
    log.warn({ model, reason: detailOf(error) }, 'model refused by the external agent, which uses its own')
    return session
  }
}

/** Gives the session another model. @throws the agent's own error when it refuses. */
export async function setModel(
  connection: Pick<Connection, 'request'>,
  session: Session,
  model: string,
  signal: AbortSignal,
): Promise<Session> {
  let { models } = session
  for (const { method, params } of switchRequests(
    session.id,
    model,
    models.option,
    session.provider?.key === 'codex',
  )) {
    const reported = modelsOf(await connection.request(method, params, signal))
    models = { ...models, available: reported.available ?? models.available, option: reported.option ?? models.option }
  }
  return { ...session, models: { ...models, current: model }, isModelSet: true }
}

/** Sets the mode that the policy requires. @throws AcpFailure; the agent's own error for a required mode. */
export async function setMode(
  connection: Pick<Connection, 'request'>,
  session: Session,
  { named, policy, log }: { named: string | null; policy: ConfirmationPolicy; log: Log },
  signal: AbortSignal,
): Promise<Session> {
  const wanted = wantedMode(named, policy, session.provider, session.modes)
  if (wanted === null || wanted.id === session.modes.current) return session
  try {
    await connection.request('session/set_mode', { sessionId: session.id, modeId: wanted.id }, signal)
  } catch (error) {
    if (wanted.isRequired || !isRequestFailure(error)) throw error
    // If the agent still asks for permission, the gate answers.
    log.warn({ mode: wanted.id, reason: detailOf(error) }, 'mode refused by the external agent')
    return session
  }
  return { ...session, modes: { ...session.modes, current: wanted.id } }
}
