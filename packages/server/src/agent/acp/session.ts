/** From a started program to a session that can be asked. Source: agent-core.md 11.3, 11.4. */
import { createHash } from 'node:crypto'
import type { ACPAgent, ConfirmationPolicy } from '@parley/protocol'
import { expandServer } from '../../tools/index.ts'
import type { Workspace } from '../../workspace/index.ts'
import type { Log } from '../gateway.ts'
import type { Connection } from './connection.ts'
import { detailOf, isRequestFailure } from './failure.ts'
import { login } from './login.ts'
import { forwardedServers } from './mcp.ts'
import { modelsOf, switchRequests, type SessionModels } from './models.ts'
import { modesOf, wantedMode, type SessionModes } from './modes.ts'
import { providerOfName, type Provider } from './providers.ts'

const PROTOCOL_VERSION = 1

/** A session that is ready for a prompt. */
export type Session = {
  id: string
  /** It remembers what it was told before this start. */
  isResumed: boolean
  agentName: string | null
  agentVersion: string | null
  /** Known by what the agent says it is, or by how it was started. */
  provider: Provider | null
  models: SessionModels
  /** `acp_model` was taken. */
  isModelSet: boolean
  modes: SessionModes
  /** A question can be asked beside the conversation. */
  canFork: boolean
  takesImages: boolean
  cwd: string
}

export type SessionParts = {
  agent: ACPAgent
  policy: ConfirmationPolicy
  /** A session that the agent may still know; null: none. */
  prior: string | null
  provider: Provider | null
  env: Readonly<Record<string, string>>
  /** Put in for `${NAME}` in MCP servers. */
  secrets: Readonly<Record<string, string>>
  workspace: Pick<Workspace, 'exec' | 'workingDir'>
  log: Log
}

type Loose = Record<string, unknown>
const loose = (value: unknown): Loose => (typeof value === 'object' && value !== null ? (value as Loose) : {})
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** Introduces us, logs in, and takes up a session or begins one. @throws AcpFailure; the agent's own errors. */
export async function openSession(connection: Connection, parts: SessionParts, signal: AbortSignal): Promise<Session> {
  const { agent, env, workspace, log } = parts
  const hello = await connection.request(
    'initialize',
    {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: 'parley', title: 'Parley', version: '1' },
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    },
    signal,
  )
  const info = loose(hello['agentInfo'])
  const can = loose(hello['agentCapabilities'])
  const agentName = textOf(info['name'])
  const provider = providerOfName(agentName) ?? parts.provider
  const methods = Array.isArray(hello['authMethods']) ? hello['authMethods'] : []
  const offered = methods.flatMap((method: unknown) => textOf(loose(method)['id']) ?? [])
  await login(connection, { offered, env, workspace, log }, signal)

  const transports = loose(can['mcpCapabilities'])
  const named = Object.entries(agent.mcp_config).map(
    ([name, server]) => [name, expandServer(server, parts.secrets)] as const,
  )
  const { servers, dropped } = forwardedServers(Object.fromEntries(named), {
    http: transports['http'] === true,
    sse: transports['sse'] === true,
    filter: agent.filter_tools_regex,
  })
  for (const { name, reason } of dropped)
    log.warn({ server: name, reason }, 'an MCP server is not passed to the external agent')
  const place = { cwd: workspace.workingDir, mcpServers: servers }
  const resumed = await takeUp(connection, can, parts.prior, place, log, signal)
  const answer =
    resumed?.answer ?? (await connection.request('session/new', { ...place, ...metaOf(agent, provider) }, signal))
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
    canFork: loose(can['sessionCapabilities'])['fork'] != null,
    cwd: workspace.workingDir,
    takesImages: loose(can['promptCapabilities'])['image'] === true,
  }
  const withModel =
    agent.acp_model === null ? session : await tryModel(connection, session, agent.acp_model, log, signal)
  return setMode(connection, withModel, { named: agent.acp_session_mode, policy: parts.policy, log }, signal)
}

const metaOf = ({ acp_model }: ACPAgent, provider: Provider | null) =>
  acp_model === null || provider === null || provider.metaKey === null
    ? {}
    : { _meta: { [provider.metaKey]: { options: { model: acp_model } } } }

/** The session of before; null when the agent does not have it any more. */
async function takeUp(
  connection: Connection,
  can: Loose,
  prior: string | null,
  place: object,
  log: Log,
  signal: AbortSignal,
): Promise<{ id: string; answer: Loose } | null> {
  if (prior === null) return null
  const ways: string[] = []
  if (loose(can['sessionCapabilities'])['resume'] != null) ways.push('session/resume')
  if (can['loadSession'] === true) ways.push('session/load')
  for (const method of ways) {
    try {
      return { id: prior, answer: await connection.request(method, { sessionId: prior, ...place }, signal) }
    } catch (error) {
      if (!isRequestFailure(error)) throw error
      const session = createHash('sha256').update(prior).digest('hex').slice(0, 8)
      log.warn({ session, method, reason: detailOf(error) }, 'the external agent cannot take the session up')
    }
  }
  return null
}

/** A model that the agent refuses is not the end: it goes on with its own. */
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
    log.warn({ model, reason: detailOf(error) }, 'the external agent refused the model and uses its own')
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
    const told = modelsOf(await connection.request(method, params, signal))
    models = { ...models, available: told.available ?? models.available, option: told.option ?? models.option }
  }
  return { ...session, models: { ...models, current: model }, isModelSet: true }
}

/** Puts the session into the mode that the policy wants. @throws AcpFailure, the agent's own error for a mode that is needed. */
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
    if (wanted.isNeeded || !isRequestFailure(error)) throw error
    // Whoever asks all the same is answered by us.
    log.warn({ mode: wanted.id, reason: detailOf(error) }, 'the external agent refused the mode')
    return session
  }
  return { ...session, modes: { ...session.modes, current: wanted.id } }
}
