/** Renders events as lines for a terminal. Pure. */
import type {
  ActionEvent,
  ControlEvent,
  ModelRetryEvent,
  Observation,
  StartPhaseEvent,
  WireEvent,
} from '@parley/protocol'
import { contentText } from './content-text.ts'
import { clip, plain, type Colour, type Paint } from './paint.ts'
import { renderAction } from './render-action.ts'

/** An event of a stream or a page; its kind may be unknown to this version. */
export type ShownEvent = WireEvent | ControlEvent

export type View = {
  paint: Paint
  /** Columns; longer lines are shortened. */
  width: number
  /** Maximum number of lines of one result; the middle of a longer one is omitted. */
  maxLines: number
  /** Paths below this folder are shown relative to it. */
  workingDir?: string | undefined
}

/** Returns the lines of one event, without line ends; none for an event that is not shown. */
export function render(event: ShownEvent, view: View): string[] {
  switch (event.kind) {
    case 'MessageEvent':
      return speech(
        event.source === 'environment' ? 'note' : event.source,
        contentText(event.llm_message.content),
        view,
      )
    case 'ActionEvent':
      return action(event, view)
    case 'ObservationEvent':
      return observation(event.observation, view)
    case 'UserRejectObservation':
      return [note('yellow', '✗', `${event.tool_name} refused: ${event.rejection_reason}`, view)]
    case 'AgentErrorEvent':
      return failure('', event.error, view)
    case 'ConversationErrorEvent':
      return failure('✗ ', `${event.code}: ${event.detail}`, view)
    case 'PauseEvent':
      return [note('yellow', '‖', 'paused', view)]
    case 'InterruptEvent':
      return [note('yellow', '‖', 'interrupted', view)]
    case 'Condensation':
      return [note('dim', '·', `${event.forgotten_event_ids?.length ?? 0} earlier events summarized`, view)]
    case 'HookExecutionEvent':
      if (event.success && !event.blocked) return []
      return [
        note(
          'yellow',
          '✗',
          `${event.hook_event_type} hook: ${event.reason ?? event.error ?? `exit ${event.exit_code}`}`,
          view,
        ),
      ]
    case 'ACPToolCallEvent':
      if (event.status === 'pending' || event.status === 'in_progress') return []
      return [note(event.is_error === true ? 'red' : 'cyan', '▸', event.title, view)]
    case 'StatusChangedEvent':
      return status(event.status, view)
    case 'ConversationStateUpdateEvent':
      if (event.key === 'start_phase') return startPhase(event.value as StartPhase, view)
      if (event.key === 'model_retry') return retry(event.value as Retry, view)
      return event.key === 'execution_status' ? status(String(event.value), view) : []
    case 'StartPhaseEvent':
      return startPhase(event, view)
    case 'ModelRetryEvent':
      return retry(event, view)
    default:
      return []
  }
}

type Retry = Pick<ModelRetryEvent, 'attempt' | 'wait_seconds' | 'detail'>

const retry = ({ attempt, wait_seconds, detail }: Retry, view: View) => [
  note(
    'yellow',
    '↻',
    `the model is asked again in ${Math.ceil(wait_seconds)} s (attempt ${attempt + 1}): ${detail}`,
    view,
  ),
]

function action(event: ActionEvent, view: View): string[] {
  const thought = contentText(event.thought)
  const spoken = thought === '' ? [] : speech('agent', thought, view)
  if (event.action == null) {
    return [...spoken, note('cyan', '▸', `${event.tool_name} ${event.tool_call.arguments}`, view)]
  }
  if (event.action.kind === 'FinishAction' && 'message' in event.action) {
    return [...spoken, ...speech('done', String(event.action.message), view)]
  }
  const { title, body } = renderAction(event.action, (path) => relative(path, view.workingDir))
  const risk =
    event.security_risk === 'HIGH' || event.security_risk === 'MEDIUM'
      ? view.paint('yellow', `  risk ${event.security_risk}`)
      : ''
  const name = flat(event.tool_name, 40)
  const head = `${view.paint('cyan', '▸')} ${view.paint('bold', name)}  ${flat(title, view.width - name.length - 4)}`
  return [...spoken, `${head.trimEnd()}${risk}`, ...body.flatMap(({ colour, text }) => block(colour, text, view))]
}

function observation(result: Observation, view: View): string[] {
  const text = contentText(result.content ?? [])
  if (result.is_error === true) return block('red', text, view)
  switch (result.kind) {
    case 'TerminalObservation': {
      const exit = result.exit_code ?? null
      const ending =
        exit === null || exit === 0
          ? []
          : [view.paint(exit === -1 ? 'yellow' : 'red', exit === -1 ? '  still running' : `  exit ${exit}`)]
      return [...block('dim', text, view), ...ending]
    }
    case 'FinishObservation':
    case 'ThinkObservation':
    case 'TaskTrackerObservation':
      return []
    case 'FileEditorObservation':
      // The action above shows the change already.
      return result.command === 'view' ? block('dim', text, view) : []
    default:
      return block('dim', text, view)
  }
}

type StartPhase = Pick<StartPhaseEvent, 'phase' | 'status' | 'code' | 'detail'>

function startPhase({ phase, status: state, code, detail }: StartPhase, view: View): string[] {
  if (state !== 'failed') return []
  return [note('red', '✗', `the start failed at ${phase}: ${detail ?? code ?? 'no reason given'}`, view)]
}

function status(value: string, view: View): string[] {
  switch (value) {
    case 'waiting_for_confirmation':
      return [note('yellow', '?', 'waiting for your decision', view)]
    case 'stuck':
      return [note('red', '✗', 'stuck: the agent repeats itself', view)]
    case 'error':
      return [note('red', '✗', 'stopped by an error', view)]
    default:
      return []
  }
}

const SPEAKERS: Record<string, Colour> = { user: 'green', agent: 'magenta', done: 'green', note: 'dim', hook: 'dim' }
const NAMES: Record<string, string> = { user: 'you', done: 'done' }

function speech(who: string, text: string, { paint, width }: View): string[] {
  const [first, ...rest] = plain(text)
    .trimEnd()
    .split('\n')
    .flatMap((line) => wrap(line, width - 7))
  const name = paint(SPEAKERS[who] ?? 'dim', (NAMES[who] ?? who).padEnd(6))
  return [`${name} ${first ?? ''}`.trimEnd(), ...rest.map((line) => `       ${line}`.trimEnd())]
}

function note(colour: Colour, sign: string, text: string, { paint, width }: View): string {
  return `${paint(colour, sign)} ${flat(text, width - 2)}`
}

/** A sentence about a failure, in full: its end often names the remedy. */
function failure(sign: string, text: string, view: View): string[] {
  const indent = 2
  const lines = plain(text)
    .trim()
    .split('\n')
    .flatMap((line) => wrap(line, view.width - indent))
  const isLong = lines.length > view.maxLines
  return (isLong ? [...lines.slice(0, view.maxLines - 1), '…'] : lines).map((line, index) =>
    view.paint('red', `${index === 0 ? sign.padEnd(indent) : '  '}${line}`),
  )
}

/** One line. */
function flat(text: string, width: number): string {
  return clip(plain(text).trim().replaceAll('\n', ' ⏎ '), width)
}

function block(colour: Colour, text: string, { paint, width, maxLines }: View): string[] {
  const lines = plain(text).replace(/\n+$/, '').split('\n')
  if (lines.length === 1 && lines[0] === '') return []
  const head = Math.ceil(maxLines / 3)
  const isLong = lines.length > maxLines
  const shown = isLong
    ? [...lines.slice(0, head), `… ${lines.length - maxLines + 1} lines left out`, ...lines.slice(head + 1 - maxLines)]
    : lines
  return shown.map((line) => paint(colour, clip(`  ${line.replaceAll('\t', '    ')}`, width)))
}

/** Wraps text at word ends where possible. */
function wrap(line: string, width: number): string[] {
  const lines: string[] = []
  let rest = line
  while (rest.length > width && Number.isFinite(width)) {
    const space = rest.lastIndexOf(' ', width)
    const end = space > width / 2 ? space : width
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return [...lines, rest]
}

function relative(path: string, workingDir: string | undefined): string {
  if (workingDir === undefined || workingDir === '') return path
  const base = workingDir.endsWith('/') ? workingDir : `${workingDir}/`
  return path.startsWith(base) ? path.slice(base.length) : path
}
