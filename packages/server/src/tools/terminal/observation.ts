/** Observation of a terminal call, for the model and clients. Source: agent-core.md 8.2; agent-server-wire.md 4.8. */
import { textContent, type TerminalAction, type TerminalObservation } from '@parley/protocol'
import type { TerminalResult } from '../../workspace/index.ts'
import { shorten, type Keep } from '../full-output.ts'

const STILL_RUNNING = -1

export type Shown = {
  action: TerminalAction
  result: TerminalResult
  /** Saves output that is too long. */
  keep: Keep
  /** Seconds of silence after which this call returned. */
  noChangeSeconds: number
  /** Seconds of silence after which the next call that waits returns. */
  waitSeconds: number
}

export async function observe({ action, result, keep, ...seconds }: Shown): Promise<TerminalObservation> {
  const { text, savedIn } = await shorten(result.output.trimEnd(), keep)
  const exitCode = result.exit_code ?? (result.outcome === 'exited' ? null : STILL_RUNNING)
  return {
    kind: 'TerminalObservation',
    content: [textContent(text)],
    is_error: result.outcome === 'refused' || result.outcome === 'lost',
    command: action.reset ? `[RESET] ${action.command}`.trimEnd() : action.command,
    exit_code: exitCode,
    timeout: result.outcome === 'running' && result.limit !== null,
    metadata: {
      exit_code: exitCode ?? STILL_RUNNING,
      pid: result.pid ?? -1,
      username: result.shell?.user ?? null,
      hostname: result.shell?.host ?? null,
      working_dir: result.working_dir === '' ? null : result.working_dir,
      py_interpreter_path: result.shell?.python ?? null,
      prefix: prefix(action, result),
      suffix: suffix(action, result, seconds),
    },
    full_output_save_dir: savedIn,
  }
}

/** Observation of a call that was not executed, or whose outcome is unknown. */
export function refusal(action: TerminalAction, reason: string): TerminalObservation {
  return {
    kind: 'TerminalObservation',
    content: [textContent(reason)],
    is_error: true,
    command: action.command,
    exit_code: STILL_RUNNING,
    timeout: false,
    metadata: {
      exit_code: STILL_RUNNING,
      pid: -1,
      username: null,
      hostname: null,
      working_dir: null,
      py_interpreter_path: null,
      prefix: '',
      suffix: '',
    },
    full_output_save_dir: null,
  }
}

function prefix({ command, is_input, reset }: TerminalAction, { outcome, dropped }: TerminalResult): string {
  const isContinued = (command === '' || is_input) && !reset && outcome !== 'refused'
  const lines = [
    reset && outcome !== 'refused' ? '[The terminal was reset: this is a new shell.]\n' : '',
    isContinued ? '[Below is the output of the previous command.]\n' : '',
    dropped > 0 ? `[The output was too long to keep: ${dropped} characters of its middle are lost.]\n` : '',
  ]
  return lines.join('')
}

const goOn = (waitSeconds: number): string =>
  `Send an empty command to wait: for ${waitSeconds} seconds of silence, or as many seconds as you give in timeout. ` +
  'Use is_input to type into it or to press a key such as C-c.'

function suffix(
  { timeout }: TerminalAction,
  { outcome, limit, exit_code }: TerminalResult,
  { noChangeSeconds, waitSeconds }: Pick<Shown, 'noChangeSeconds' | 'waitSeconds'>,
): string {
  if (outcome === 'lost') {
    const code = exit_code === null ? '' : ` with exit code ${exit_code}`
    return `\n[The shell itself ended${code} while this ran, so the result is not reliable. The next command gets a new shell, in the workspace; variables, functions and the working directory of the old one are gone.]`
  }
  if (outcome !== 'running') return ''
  const why =
    limit === 'timeout'
      ? `The command was not done after ${timeout ?? 0} seconds`
      : limit === 'silence'
        ? `The command has printed nothing for ${noChangeSeconds} seconds`
        : 'The command was left'
  return `\n[${why} and is still running. ${goOn(waitSeconds)}]`
}
