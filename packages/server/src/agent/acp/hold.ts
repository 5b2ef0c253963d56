/**
 * The agent's process and its session, from the first prompt that needs them until the conversation lets go.
 *
 * Invariants
 *   H1. At most one process at a time. What did not become a session within the deadline is ended again.
 *   H2. What the agent says between two prompts, such as the history that it replays, belongs to no prompt.
 */
import type { ACPAgent, ConversationState, Draft } from '@parley/protocol'
import { makeMasker } from '../../secrets/index.ts'
import type { Workspace } from '../../workspace/index.ts'
import type { Log } from '../gateway.ts'
import { Connection, type Listener, type PermissionAnswer, type PermissionRequest, type Update } from './connection.ts'
import { prepareData } from './data-dir.ts'
import { agentEnvironment } from './environment.ts'
import { AcpFailure, startFailure } from './failure.ts'
import { modelsOf } from './models.ts'
import { CANCELLED } from './permission.ts'
import { installedCommand, providerOfCommand } from './providers.ts'
import { openSession, type Session } from './session.ts'
import { NO_SESSION, readState, stateChange, type AcpState } from './state.ts'
import { unsupported } from './supported.ts'
import { fingerprint, priorSession, type PriorSession } from './prior.ts'
import { heard, NOTHING_SAID, type Spent } from './usage.ts'

const LONGEST_TIMER_MS = 2 ** 31 - 1
const PROBE_MS = 10_000

export type AgentSecrets = {
  names: { name: string; description: string | null }[]
  values: Record<string, string>
}

export type HoldDeps = {
  conversationId: string
  workspace: Workspace
  /** The conversation's folder on this machine. */
  dataDir: string
  /** What the conversation knows of secrets now. */
  secrets: () => Promise<AgentSecrets>
  seal: (text: string) => string
  unseal: (sealed: string) => string
  log: Log
}

/** A session that can be asked. */
export type Held = { connection: Connection; session: Session }

/** Who hears a session: the prompt that is going on in it. */
export type Hearer = {
  hear(update: Update): void
  ask(request: PermissionRequest): Promise<PermissionAnswer>
}

export class Hold implements AsyncDisposable {
  readonly #deps: HoldDeps
  readonly #hearers = new Map<string, Hearer>()
  #held: Held | null = null
  #connection: Connection | null = null
  /** Processes that are being ended. */
  #ending: Promise<unknown> = Promise.resolve()
  /** What the session itself said that it costs, when it said so last. */
  spent: Spent = NOTHING_SAID

  constructor(deps: HoldDeps) {
    this.#deps = deps
  }

  /** Null: there is no session, or its process has ended. */
  get held(): Held | null {
    return this.#held?.connection.isOpen === true ? this.#held : null
  }

  /** The session as it is after one of its settings was changed. */
  set session(session: Session) {
    if (this.#held !== null) this.#held = { ...this.#held, session }
  }

  /** What the session says goes to `hearer` until the returned function is called. */
  listen(sessionId: string, hearer: Hearer): () => void {
    this.#hearers.set(sessionId, hearer)
    return () => {
      if (this.#hearers.get(sessionId) === hearer) this.#hearers.delete(sessionId)
    }
  }

  /**
   * Starts the agent and opens a session; the draft keeps what is to survive a restart.
   * @param isFresh whether the session of before knows things that the branch does not
   * @throws AcpFailure; the signal's reason.
   */
  async start(
    agent: ACPAgent,
    state: ConversationState,
    isFresh: boolean,
    signal: AbortSignal,
  ): Promise<{ held: Held; draft: Draft | null }> {
    await this.stop()
    const deadline = new AbortController()
    const ms = Math.min(Math.max(agent.acp_startup_timeout, 0) * 1000, LONGEST_TIMER_MS)
    const timer = setTimeout(() => deadline.abort(new Error('the start took too long')), ms)
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
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends the agent's process; safe when there is none. */
  stop(): Promise<void> {
    const connection = this.#connection
    this.#held = null
    this.#connection = null
    this.spent = NOTHING_SAID
    if (connection !== null) this.#ending = Promise.all([this.#ending, connection[Symbol.asyncDispose]()])
    return this.#ending.then(() => undefined)
  }

  async #open(agent: ACPAgent, state: ConversationState, isFresh: boolean, signal: AbortSignal) {
    const { conversationId, workspace, log, seal, unseal } = this.#deps
    // A record of before may hold what a start request is refused for.
    const refused = unsupported(agent)
    if (refused !== null) throw new AcpFailure('ACPInitError', refused.message)
    const { argv, env, provider, secrets, redacted } = await this.#program(agent, signal)
    const stored = readState(state)
    const prior = isFresh
      ? null
      : priorSession(agent.acp_resume_session_id, stored, { conversationId, cwd: workspace.workingDir, unseal })
    const connection = await Connection.open({ argv, env }, this.#listener(), { workspace, redacted, log }, signal)
    this.#connection = connection
    this.spent = prior?.isStored === true ? { ...NOTHING_SAID, sessionCost: stored.acp_session_cost } : NOTHING_SAID
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
    this.#held = { connection, session }
    const isStored = session.isResumed && prior?.isStored === true
    const change: Partial<AcpState> = {
      ...(isStored ? {} : NO_SESSION),
      acp_conversation_id: conversationId,
      acp_agent_name: session.agentName,
      acp_agent_version: session.agentVersion,
      ...(isStored ? {} : { acp_session_id: seal(session.id) }),
      acp_session_cwd: workspace.workingDir,
      acp_session_cost: this.spent.sessionCost ?? 0,
      acp_refused_session:
        refusedSession(agent.acp_resume_session_id, { prior, isFresh, session }) ?? stored.acp_refused_session,
      ...modelFacts(session, isStored ? stored : null),
    }
    return { held: this.#held, draft: stateChange(state, change) }
  }

  async #program(agent: ACPAgent, signal: AbortSignal) {
    const { workspace, dataDir, log } = this.#deps
    const command = await this.#command([...agent.acp_command, ...agent.acp_args], signal)
    const provider = providerOfCommand(command)
    const { values } = await this.#deps.secrets()
    const masker = makeMasker(Object.values(values))
    const pointers = await prepareData(
      { provider, isIsolated: agent.acp_isolate_data_dir, fileSecrets: agent.acp_file_secrets, secrets: values },
      { dataDir, workspace, log },
      signal,
    )
    const asFiles = agent.acp_file_secrets.map(({ secret_name }) => secret_name)
    const env = agentEnvironment({ secrets: values, asFiles, provider, pointers })
    return { argv: command, env, provider, secrets: values, redacted: (text: string) => masker.text(text) }
  }

  /** An installed program goes before `npx`, which would have to look into a registry. */
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

  #listener(): Listener {
    return {
      onUpdate: (update) => {
        const hearer = this.#hearers.get(update.sessionId)
        const held = this.#held
        const isOwn = held?.session.id === update.sessionId
        if (isOwn && update.update.sessionUpdate === 'config_option_update')
          this.session = { ...held.session, models: { ...held.session.models, ...reported(update.update) } }
        if (update.update.sessionUpdate === 'usage_update' && (isOwn || held === null))
          this.spent = heard(this.spent, update.update)
        hearer?.hear(update)
      },
      onPermission: async (request) => this.#hearers.get(request.sessionId)?.ask(request) ?? CANCELLED,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#hearers.clear()
    await this.stop()
  }
}

/** The named session, when it is not to be tried again: the agent does not know it, or it knows what the branch does not. */
function refusedSession(
  named: string | null,
  { prior, isFresh, session }: { prior: PriorSession | null; isFresh: boolean; session: Session },
): string | null {
  if (named === null) return null
  return isFresh || (prior?.id === named && !session.isResumed) ? fingerprint(named) : null
}

/** What an update says of the models; what it does not say stays. */
function reported(update: Record<string, unknown>) {
  const models = modelsOf(update)
  return models.option === null ? {} : models
}

/** What the session says of its models, and what it said before where it says nothing now. */
export function modelFacts(session: Session, before: AcpState | null): Partial<AcpState> {
  const { current, available, option } = session.models
  return {
    acp_supports_runtime_model_switch: session.provider?.switchesModels === true,
    acp_model_via_config_option: option !== null || (before?.acp_model_via_config_option ?? false),
    acp_current_model_id: current ?? before?.acp_current_model_id ?? null,
    acp_available_models: available ?? before?.acp_available_models ?? [],
  }
}
