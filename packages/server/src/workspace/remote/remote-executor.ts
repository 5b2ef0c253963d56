/** Executes the jobs of one conversation on another agent server. */
import { createHash, randomBytes } from 'node:crypto'
import { ParleyError, type ConversationId } from '@parley/protocol'
import { abortable } from '../../lib/index.ts'
import type { RetryBudget, RemoteLink } from './link.ts'
import { fromMaskedBase64 } from './masked-base64.ts'
import { quote, shellLine } from './quote.ts'
import {
  CANCEL,
  fenced,
  GREET,
  LOOK,
  LOOKED,
  MARK,
  RELEASE,
  REPLACED,
  RESET,
  SIGNAL,
  SUPERVISE,
  TYPE,
} from './scripts.ts'

/** Bytes of each stream in one answer: more than a terminal shows, less than the megabyte at which a server splits outputs. */
export const MAX_LOOK_BYTES = 256 * 1024
/** Longest wait of one status request; a shorter read timeout limits it further. */
const MAX_WAIT_MS = 10_000
/** Milliseconds for which a look at a job answers the call that follows it. */
const RECALL_MS = 2_000
/** Seconds until the other server ends a job: the longest time that its timers support. */
const JOB_SECONDS = 2_147_000

/** Exit code of a command that did not start, or ran out of time. Source: agent-server-wire.md 1.7. */
const NOT_STARTED = -1

/** A pager would wait for input. Source: agent-core.md 8.1. */
const NO_PAGERS = 'AI_AGENT=parley PAGER=cat GIT_PAGER=cat MANPAGER=cat SYSTEMD_PAGER=cat AWS_PAGER='

export type RemoteExecutorSpec = { conversationId: ConversationId; workingDir: string; epoch: number }

/** State of the conversation's folder on the other server. */
export type Greeting = {
  root: string
  token: string
  /** Newest job of the terminal; null before there was one. */
  current: string | null
  shell: { user: string; host: string; python: string | null }
}

type JobState = 'absent' | 'ready' | 'running' | 'exited' | 'gone'

/** Status of a job. `shown` is null when the output of a running job was not requested. */
export type Look = {
  state: JobState
  /** Exit code of an ended job, pid of a running one. */
  number: number
  outSize: number
  errSize: number
  shown: { cwd: string; head: Buffer; tail: Buffer; errHead: Buffer; errTail: Buffer } | null
}

export type LookRequest = { from: number; waitMs: number; isOutputWanted: boolean }

/** `isNew`: the working directory does not exist yet. `look`: a job to look at in the same request, from a byte of its output. */
export type GreetOptions = RetryBudget & { isNew?: boolean; look?: { job: string; from: number } }

export class RemoteExecutor {
  readonly link: RemoteLink
  readonly #spec: RemoteExecutorSpec
  #greeting: Promise<Greeting> | null = null
  /** Looks by job that no call has used yet, and when they were taken. */
  readonly #looks = new Map<string, { from: number; at: number; look: Look }>()
  /** Where scripts run: the working directory, unless the server does not make it. */
  #cwd: string | undefined

  constructor(link: RemoteLink, spec: RemoteExecutorSpec) {
    this.link = link
    this.#spec = spec
  }

  /** Longest wait of one status request, below the read timeout, so that a healthy server does not count as silent. */
  get maxWaitMs(): number {
    return Math.min(MAX_WAIT_MS, this.link.readTimeoutMs / 2)
  }

  /** Creates the conversation's folder and the working directory there, once. After a failure the next call tries again. */
  greet(signal: AbortSignal, options: GreetOptions = {}): Promise<Greeting> {
    // Several calls may wait for the same answer, and aborting one must not abort the others.
    this.#greeting ??= this.#greet(new AbortController().signal, options).catch((error: unknown) => {
      this.#greeting = null
      throw error
    })
    return abortable(this.#greeting, signal)
  }

  async #greet(signal: AbortSignal, { isNew = false, look, ...retryBudget }: GreetOptions): Promise<Greeting> {
    const { conversationId, workingDir, epoch } = this.#spec
    const token = randomBytes(16).toString('hex')
    const first = look === undefined ? [] : [look.job, String(look.from), String(MAX_LOOK_BYTES)]
    const args = [conversationId, token, String(epoch), workingDir, ...first]
    const answer = await this.#answerToGreeting(args, isNew, signal, retryBudget)
    const at = look === undefined ? answer.length : answer.lastIndexOf(`\n${LOOKED}\n`)
    const output = answer.slice(0, at)
    const of = (name: string) => new RegExp(`^${name} (.*)$`, 'm').exec(output)?.[1] ?? ''
    this.#expectNewest(Number(of('epoch')))
    const { origin } = this.link
    if (of('trouble') !== '')
      throw new ParleyError(
        'bad_request',
        `The working directory ${workingDir} cannot be used on ${origin}: ${of('trouble')}`,
      )
    if (of('bash') === '')
      throw new ParleyError('unsupported', `${origin} has no bash, which runs the commands of a conversation.`)
    if (look !== undefined) this.#remember(look.job, look.from, readLook(answer.slice(at + LOOKED.length + 2)))
    const orNull = (text: string) => (text === '' ? null : text)
    const shell = { user: of('user'), host: of('host'), python: orNull(of('python')) }
    return { root: of('root'), token: of('token'), current: orNull(of('current')), shell }
  }

  /** A working directory usually exists, so one that may exist is made only when the script does not start in it. */
  async #answerToGreeting(
    args: readonly string[],
    isNew: boolean,
    signal: AbortSignal,
    retryBudget: RetryBudget,
  ): Promise<string> {
    const { workingDir } = this.#spec
    if (!isNew) {
      try {
        this.#cwd = workingDir
        return await this.link.run(GREET, args, signal, { ...retryBudget, cwd: workingDir })
      } catch (error) {
        if (!isRefusal(error)) throw error
      }
    }
    this.#cwd = (await this.#makeDirectory(signal, retryBudget)) ? workingDir : undefined
    return this.run(GREET, args, signal, retryBudget)
  }

  /**
   * Makes the working directory outside of a sandbox there, which shows it to the commands that begin in it. False when the server refuses
   * that, or cannot: its shell then tries, and reports the reason. @throws ParleyError `unavailable`
   */
  async #makeDirectory(signal: AbortSignal, retryBudget: RetryBudget): Promise<boolean> {
    try {
      await this.link.createDirectory(this.#spec.workingDir, signal, retryBudget)
      return true
    } catch (error) {
      if (error instanceof ParleyError && error.details?.['status'] !== null) return false
      throw error
    }
  }

  /** Runs a script to its end in the working directory, as `RemoteLink.run` does. The script may run twice. */
  async run(...[script, args, signal, options]: Parameters<RemoteLink['run']>): Promise<string> {
    const cwd = this.#cwd
    const run = () => this.link.run(script, args, signal, { ...options, cwd })
    try {
      return await run()
    } catch (error) {
      const isUnstarted = error instanceof ParleyError && error.details?.['exit_code'] === NOT_STARTED
      if (cwd === undefined || !isUnstarted) throw error
      // No script starts in a directory that was removed.
      await this.link.createDirectory(cwd, signal, options)
      return run()
    }
  }

  #expectNewest(epoch: number): void {
    if (epoch > this.#spec.epoch) throw replaced()
  }

  /**
   * Runs a script that changes something there, and returns its output.
   * @throws ParleyError `conflict` without a change as soon as a newer owner has taken over
   */
  async change(
    script: string,
    args: readonly string[],
    signal: AbortSignal,
    options: Parameters<RemoteLink['run']>[3] = {},
  ): Promise<string> {
    const { root } = await this.greet(signal)
    const output = await this.run(fenced(script), [root, String(this.#spec.epoch), ...args], signal, options)
    if (output.trim() === REPLACED) throw replaced()
    return output
  }

  /** Makes the next call request the folder again, because the other machine may have been replaced. */
  forgetGreeting(): void {
    this.#greeting = null
  }

  async folderOf(job: string, signal: AbortSignal): Promise<string> {
    return `${(await this.greet(signal)).root}/jobs/${job}`
  }

  /** Starts a job, unless it has begun already (S1). */
  async start(
    job: string,
    { kind, script, stdin }: { kind: 'terminal' | 'program'; script: string; stdin?: string | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    const { root } = await this.greet(signal)
    const folder = await this.folderOf(job, signal)
    if (stdin !== undefined) await this.link.upload(`${folder}/stdin`, Buffer.from(stdin), signal)
    await Promise.all([
      this.link.upload(`${folder}/run`, Buffer.from(script), signal),
      // The start of a job reports no failure.
      this.#cwd === undefined ? undefined : this.link.createDirectory(this.#cwd, signal),
    ])
    const words = ['bash', '-c', SUPERVISE, 'parley', folder, root, String(this.#spec.epoch), kind]
    const environment = `${MARK}=${quote(root)} ${NO_PAGERS}`
    await this.link.start(`exec env ${environment} ${shellLine(words)}`, JOB_SECONDS, signal, { cwd: this.#cwd })
  }

  /**
   * Returns the status of a job: immediately when it has ended, otherwise after at most `waitMs`.
   * @throws ParleyError `conflict` as soon as a newer owner has taken over.
   */
  async look(job: string, { from, waitMs, isOutputWanted }: LookRequest, signal: AbortSignal): Promise<Look> {
    const folder = await this.folderOf(job, signal)
    const limit = Math.max(0, Math.min(waitMs, this.maxWaitMs))
    const wanted = isOutputWanted ? '1' : '0'
    const args = [folder, String(from), String(MAX_LOOK_BYTES), pauses(limit), wanted, String(this.#spec.epoch)]
    const look = readLook(await this.run(LOOK, args, signal, { waitMs: limit }))
    this.#expectNewest(look.epoch)
    return look
  }

  /**
   * Looks at a job without waiting, in one request with the greeting where that is needed. `recall` returns the answer again.
   * @throws ParleyError as `look`
   */
  async inspect(job: string, from: number, signal: AbortSignal): Promise<{ token: string; look: Look }> {
    const isFirst = this.#greeting === null
    const { token } = await this.greet(signal, { look: { job, from } })
    const greeted = isFirst ? this.recall(job, from) : null
    const look = greeted ?? (await this.look(job, { from, waitMs: 0, isOutputWanted: false }, signal))
    this.#remember(job, from, look)
    return { token, look }
  }

  /** The look that `inspect` has just taken at a job, once; null: there is none, or it is not of this moment. */
  recall(job: string, from: number): Look | null {
    const known = this.#looks.get(job)
    this.#looks.delete(job)
    const isOfNow = known !== undefined && known.from === from && performance.now() - known.at < RECALL_MS
    return isOfNow ? known.look : null
  }

  #remember(job: string, from: number, look: Look): void {
    this.#looks.set(job, { from, at: performance.now(), look })
  }

  async signal(
    job: string,
    name: 'INT' | 'QUIT' | 'TERM',
    signal: AbortSignal,
    retryBudget: RetryBudget = {},
  ): Promise<void> {
    const args = [await this.folderOf(job, signal), name, name === 'TERM' ? '0.1' : '']
    await this.change(SIGNAL, args, signal, { waitMs: 2_000, ...retryBudget })
  }

  /** Prevents a job from beginning, also when its start request is still in transit. */
  async cancel(job: string, signal: AbortSignal): Promise<void> {
    await this.change(CANCEL, [await this.folderOf(job, signal)], signal)
  }

  /** Ends a running job; one that has not begun will not begin. */
  async end(job: string, signal: AbortSignal): Promise<void> {
    await this.cancel(job, signal)
    await this.signal(job, 'TERM', signal)
  }

  /** Types into a job. A repeated call types once. */
  async type(job: string, call: string, bytes: Buffer, signal: AbortSignal): Promise<void> {
    await this.change(TYPE, [await this.folderOf(job, signal), call, bytes.toString('base64')], signal)
  }

  /** Ends all processes of this conversation and discards the state of its shell. */
  async reset(signal: AbortSignal): Promise<void> {
    await this.change(RESET, [(await this.greet(signal)).root], signal, { waitMs: 2_000 })
  }

  /** Ends all processes of this conversation and removes its folder. */
  async release(signal: AbortSignal, retryBudget: RetryBudget): Promise<void> {
    this.#greeting = null
    await this.link.run(RELEASE, [this.#spec.conversationId], signal, { waitMs: 2_000, ...retryBudget })
  }
}

/** True when the other server has answered that it did not run a script, which may be due to its directory. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof ParleyError) || error.code === 'forbidden') return false
  const { exit_code: exitCode, status } = error.details ?? {}
  return exitCode === NOT_STARTED || typeof status === 'number'
}

const replaced = (): ParleyError =>
  new ParleyError('conflict', 'a newer owner of this conversation has taken over its remote workspace')

/** The job of a call: the same for the same call id. */
export const jobOf = (callId: string): string => createHash('sha256').update(callId).digest('hex').slice(0, 32)

/** Pauses between status checks, in seconds: short ones first, `limitMs` in total. */
export function pauses(limitMs: number): string {
  const list: string[] = []
  let leftMs = limitMs
  for (let pauseMs = 20; leftMs >= 10; pauseMs = Math.min(500, Math.ceil(pauseMs * 1.4))) {
    const ms = Math.min(pauseMs, leftMs)
    list.push((ms / 1000).toFixed(3))
    leftMs -= ms
  }
  return list.join(' ')
}

function readLook(output: string): Look & { epoch: number } {
  const [first = '', ...lines] = output.split('\n')
  const [state, number, outSize, errSize, epoch] = first.trim().split(/\s+/)
  const [cwd, head, tail, errHead, errTail] = lines.map(fromMaskedBase64)
  const isShown = errTail !== undefined
  return {
    state: state as JobState,
    number: Number(number),
    outSize: Number(outSize),
    errSize: Number(errSize),
    epoch: Number(epoch),
    shown: isShown ? { cwd: cwd!.toString('utf8'), head: head!, tail: tail!, errHead: errHead!, errTail } : null,
  }
}
