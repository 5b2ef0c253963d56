/**
 * The agent's process and its ACP session, from the first prompt that needs them until the conversation is closed.
 *
 * Invariants
 *   H1. There is at most one process at a time. A process without a session at the deadline is ended.
 *   H2. Updates between two prompts, such as a replayed history, belong to no prompt.
 */
import type { ACPAgent, ConversationState, Draft } from '@parley/protocol'
import { timeLimit } from '../../lib/index.ts'
import { makeMasker } from '../../secrets/index.ts'
import type { Workspace } from '../../workspace/index.ts'
import type { Log } from '../agent.ts'
import {
  CANCELLED,
  Connection,
  type ConnectionListener,
  type PermissionAnswer,
  type PermissionRequest,
  type Update,
} from './process/connection.ts'
import { prepareDataDir } from './process/data-dir.ts'
import { agentEnvironment } from './process/environment.ts'
import { AcpFailure, startFailure } from './failure.ts'
import { modelsOf } from './session/models.ts'
import { installedCommand, providerOfCommand } from './providers.ts'
import { openSession, type Session } from './session/session.ts'
import { NO_SESSION, readState, stateChange, type AcpState } from './state.ts'
import { unsupported } from './supported.ts'
import { fingerprint, priorSession, type PriorSession } from './session/prior.ts'
import { withUsageUpdate, NO_USAGE, type SessionUsage } from './session/usage.ts'

const LONGEST_TIMER_MS = 2 ** 31 - 1
const PROBE_MS = 10_000

export type AgentSecrets = {
  names: { name: string; description: string | null }[]
  values: Record<string, string>
}

export type AcpProcessDeps = {
  conversationId: string
  workspace: Workspace
  /** The conversation's folder on this machine. */
  dataDir: string
  /** The conversation's current secrets. */
  secrets: () => Promise<AgentSecrets>
  seal: (text: string) => string
  unseal: (sealed: string) => string
  log: Log
}

/** A session that takes prompts, and its connection. */
export type RunningSession = { connection: Connection; session: Session }

/** `draft`: what to store about the session; null when nothing changed. */
export type SessionStart = { running: RunningSession; draft: Draft | null }

/** Receives the updates and permission requests of one session. */
export type SessionListener = {
  onUpdate(update: Update): void
  onPermissionRequest(request: PermissionRequest): Promise<PermissionAnswer>
}

export class AcpProcess implements AsyncDisposable {
  readonly #deps: AcpProcessDeps
  readonly #listeners = new Map<string, SessionListener>()
  #running: RunningSession | null = null
  #connection: Connection | null = null
  /** Settles when all earlier processes have ended. */
  #stopping: Promise<unknown> = Promise.resolve()
  /** The latest usage that the session reported. */
  usage: SessionUsage = NO_USAGE

  constructor(deps: AcpProcessDeps) {
    this.#deps = deps
  }

  /** Null: there is no session, or its process has ended. */
  get running(): RunningSession | null {
    return this.#running?.connection.isOpen === true ? this.#running : null
  }

  /** Replaces the session after one of its settings was changed. */
  set session(session: Session) {
    if (this.#running !== null) this.#running = { ...this.#running, session }
  }

  /** Passes updates and requests of the session to `listener` until the returned function is called. */
  listen(sessionId: string, listener: SessionListener): () => void {
    this.#listeners.set(sessionId, listener)
    return () => {
      if (this.#listeners.get(sessionId) === listener) this.#listeners.delete(sessionId)
    }
  }

  /**
   * Starts the agent and opens a session. The draft stores the session facts that must survive a restart.
   * @param isFresh whether to start a new session because the earlier one remembers events that are not on the branch
   * @throws AcpFailure; the signal's reason.
   */
  async start(agent: ACPAgent, state: ConversationState, isFresh: boolean, signal: AbortSignal): Promise<SessionStart> {
    await this.stop()
    const deadline = new AbortController()
    const ms = Math.min(Math.max(agent.acp_startup_timeout, 0) * 1000, LONGEST_TIMER_MS)
    using _limit = timeLimit(ms, () => deadline.abort(new Error('the start took too long')))
    const own = AbortSignal.any([signal, deadline.signal])
    try {
      return await this.#open(agent, state, isFresh, own)
    } catch (error) {
      await this.stop()
      if (signal.aborted) throw signal.reason
      if (deadline.signal.aborted)
        throw new AcpFailure(
          'ACPStartupTimeout',
          `The agent was not ready within ${agent.acp_startup_timeout} s (acp_startup_timeout).`,
          error,
        )
      throw startFailure(error)
    }
  }

  /** Ends the agent's process; safe when there is none. */
  stop(): Promise<void> {
    const connection = this.#connection
    this.#running = null
    this.#connection = null
    this.usage = NO_USAGE
    if (connection !== null) this.#stopping = Promise.all([this.#stopping, connection[Symbol.asyncDispose]()])
    return this.#stopping.then(() => undefined)
  }

  async #open(agent: ACPAgent, state: ConversationState, isFresh: boolean, signal: AbortSignal) {
    const { conversationId, workspace, log, seal, unseal } = this.#deps
    // An older record may have members that a start request is refused for.
    const problem = unsupported(agent)
    if (problem !== null) throw new AcpFailure('ACPInitError', problem.message)
    const { argv, env, provider, secrets, redacted } = await this.#program(agent, signal)
    const stored = readState(state)
    const prior = isFresh
      ? null
      : priorSession(agent.acp_resume_session_id, stored, { conversationId, cwd: workspace.workingDir, unseal })
    const connection = await Connection.open(
      { argv, env },
      this.#connectionListener(),
      { workspace, redacted, log },
      signal,
    )
    this.#connection = connection
    this.usage = prior?.isStored === true ? { ...NO_USAGE, sessionCost: stored.acp_session_cost } : NO_USAGE
    const session = await openSession(
      connection,
      { agent, policy: state.confirmation_policy, prior: prior?.id ?? null, provider, env, secrets, workspace, log },
      signal,
    ).catch(async (error: unknown) => {
      if (connection.isOpen || signal.aborted) throw error
      throw new AcpFailure(
        'ACPInitError',
        `The agent ended while it was started. ${error instanceof Error ? error.message : ''}`.trim(),
        error,
      )
    })
    this.#running = { connection, session }
    const isStored = session.isResumed && prior?.isStored === true
    const change: Partial<AcpState> = {
      ...(isStored ? {} : NO_SESSION),
      acp_conversation_id: conversationId,
      acp_agent_name: session.agentName,
      acp_agent_version: session.agentVersion,
      ...(isStored ? {} : { acp_session_id: seal(session.id) }),
      acp_session_cwd: workspace.workingDir,
      acp_session_cost: this.usage.sessionCost ?? 0,
      acp_refused_session:
        refusedSession(agent.acp_resume_session_id, { prior, isFresh, session }) ?? stored.acp_refused_session,
      ...modelFacts(session, isStored ? stored : null),
    }
    return { running: this.#running, draft: stateChange(state, change) }
  }

  async #program(agent: ACPAgent, signal: AbortSignal) {
    const { workspace, dataDir, log } = this.#deps
    const command = await this.#command([...agent.acp_command, ...agent.acp_args], signal)
    const provider = providerOfCommand(command)
    const { values } = await this.#deps.secrets()
    const masker = makeMasker(Object.values(values))
    const pointers = await prepareDataDir(
      { provider, isIsolated: agent.acp_isolate_data_dir, fileSecrets: agent.acp_file_secrets, secrets: values },
      { dataDir, workspace, log },
      signal,
    )
    const asFiles = agent.acp_file_secrets.map(({ secret_name }) => secret_name)
    const env = agentEnvironment({ secrets: values, asFiles, provider, pointers })
    return { argv: command, env, provider, secrets: values, redacted: (text: string) => masker.text(text) }
  }

  /** Prefers an installed program to `npx`, which would have to query a registry. */
  async #command(command: string[], signal: AbortSignal): Promise<string[]> {
    const installed = installedCommand(command)
    if (installed === null) return command
    const script = 'command -v "$1"'
    const { exit_code } = await this.#deps.workspace.exec(
      { argv: ['/bin/sh', '-c', script, 'sh', installed.binary], timeoutMs: PROBE_MS },
      signal,
    )
    return exit_code === 0 ? installed.argv : command
  }

  #connectionListener(): ConnectionListener {
    return {
      onUpdate: (update) => {
        const listener = this.#listeners.get(update.sessionId)
        const running = this.#running
        const isOwn = running?.session.id === update.sessionId
        if (isOwn && update.update.sessionUpdate === 'config_option_update')
          this.session = { ...running.session, models: { ...running.session.models, ...reportedModels(update.update) } }
        if (update.update.sessionUpdate === 'usage_update' && (isOwn || running === null))
          this.usage = withUsageUpdate(this.usage, update.update)
        listener?.onUpdate(update)
      },
      onPermissionRequest: async (request) =>
        this.#listeners.get(request.sessionId)?.onPermissionRequest(request) ?? CANCELLED,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear()
    await this.stop()
  }
}

/** Fingerprint of the named session when it must not be tried again: the agent does not know it, or it left the branch. */
function refusedSession(
  named: string | null,
  { prior, isFresh, session }: { prior: PriorSession | null; isFresh: boolean; session: Session },
): string | null {
  if (named === null) return null
  return isFresh || (prior?.id === named && !session.isResumed) ? fingerprint(named) : null
}

/** The models that an update reports; empty when it reports none, so that the known ones stay. */
function reportedModels(update: Record<string, unknown>) {
  const models = modelsOf(update)
  return models.option === null ? {} : models
}

/** State members about the session's models. Earlier values stay where the session reports nothing. */
export function modelFacts(session: Session, before: AcpState | null): Partial<AcpState> {
  const { current, available, option } = session.models
  return {
    acp_supports_runtime_model_switch: session.provider?.switchesModels === true,
    acp_model_via_config_option: option !== null || (before?.acp_model_via_config_option ?? false),
    acp_current_model_id: current ?? before?.acp_current_model_id ?? null,
    acp_available_models: available ?? before?.acp_available_models ?? [],
  }
}
