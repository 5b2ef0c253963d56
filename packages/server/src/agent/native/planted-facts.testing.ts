/** For tests: facts that a run of many steps plants, each in one place, and the calls that plant them. */
import type { ScriptedAnswer, ScriptedToolCall } from '../../../testing/scripted-model.ts'

/** Where a fact stands. */
export type Place = 'person' | 'tasks' | 'arguments' | 'decision' | 'result' | 'view'

export type Fact = {
  place: Place
  step: number
  /** Occurs nowhere else; without characters that JSON or markup escapes. */
  text: string
  /** Characters around it, and the share of them before it. */
  size: number
  at: number
}

const fact = (place: Place, step: number, text: string, size = 400, at = 0.5): Fact => ({ place, step, text, size, at })

export const FACTS: readonly Fact[] = [
  fact('person', 20, 'never edit anything below vendor/legacy-tax'),
  // A pasted log, with a remark in its middle.
  fact('person', 45, 'the release branch is release/7.4-lts', 30_000),
  fact('person', 90, 'write all dates in the zone Asia/Kathmandu', 2_000),
  fact('person', 150, 'listen on port 18431, not on 8080'),
  fact('person', 220, 'the reviewer is Ilse Quandt', 9_000),
  fact('tasks', 30, 'rotate the key ring kr-5521'),
  fact('tasks', 30, 'ask before the table invoice_2019 is dropped'),
  fact('tasks', 140, 'measure the import with the file ledger-90k.csv'),
  fact('arguments', 12, '--seed 90210 --shard 3/7', 200),
  fact('arguments', 70, 'RETRY_BUDGET_MS = 4750', 6_000),
  fact('arguments', 125, 'class HalfEvenRounding', 3_000, 0.05),
  fact('arguments', 200, 'psql service=ledger_ro', 900),
  fact('decision', 60, 'an advisory lock instead of a queue, because two writers remain', 600),
  fact('decision', 110, 'money is stored in tenths of a cent', 600),
  fact('decision', 180, 'the cache is dropped at midnight, not invalidated', 3_000),
  fact('decision', 240, 'no retry for status 409', 600),
  fact('result', 15, 'FAILED tests/test_ledger.py::test_rounding_half_even', 3_000, 0.98),
  fact('result', 55, 'Python 3.14.2 with libpq 17.5', 800),
  fact('result', 100, 'deadlock detected in worker-11', 5_000),
  fact('result', 135, 'listening on unix:/run/ledger/api.sock', 1_200),
  fact('result', 190, 'migration 0042_split_postings is pending', 4_000, 0.02),
  fact('result', 250, '317 passed, 2 failed', 2_500, 0.98),
  fact('view', 35, 'def settle_batch(batch_id, strict)', 7_000),
  fact('view', 105, 'LEDGER_PATH = /srv/ledger/v7', 1_500),
  fact('view', 170, 'DEFAULT_SHARDS = 11', 4_000),
  fact('view', 235, 'MAX_POSTING_LINES = 640', 7_000),
]

const LINE = 'a line that says nothing of interest, as most lines of a log do\n'
const filler = (size: number): string => LINE.repeat(Math.ceil(size / LINE.length))

/** A text with a fact in it. */
export function planted({ text, size, at }: Fact): string {
  const before = Math.floor((size * at) / LINE.length)
  const after = Math.ceil((size * (1 - at)) / LINE.length)
  return `${LINE.repeat(before)}${text}\n${LINE.repeat(after)}`
}

/** The name of the file that a fact is read from. */
export const fileOf = ({ step }: Fact): string => `fact-${step}.txt`

const TASKS = Array.from({ length: 24 }, (_, n) => ({
  title: `step ${n} of the plan`,
  notes: filler(80),
  status: 'todo',
}))

/** The task list of a step: with the facts planted so far, in the middle of many tasks. */
function taskList(step: number) {
  const known = FACTS.filter((each) => each.place === 'tasks' && each.step <= step)
  return TASKS.toSpliced(12, 0, ...known.map(({ text }) => ({ title: text, notes: '', status: 'in_progress' })))
}

const terminal = (command: string): ScriptedToolCall => ({ name: 'terminal', arguments: { command } })
const editor = (args: object): ScriptedToolCall => ({ name: 'file_editor', arguments: { ...args } })

/** The answer of a step: it plants the facts of this step, or reads one of the ordinary files. @param at path of a file */
export function answerOf(step: number, at: (name: string) => string): ScriptedAnswer {
  const [here] = FACTS.filter((each) => each.step === step && each.place !== 'person')
  switch (here?.place) {
    case 'tasks':
      return { toolCalls: [{ name: 'task_tracker', arguments: { command: 'plan', task_list: taskList(step) } }] }
    case 'arguments':
      return { toolCalls: [editor({ command: 'create', path: at(`made-${step}.py`), file_text: planted(here) })] }
    case 'decision':
      return { text: planted(here), toolCalls: [{ name: 'think', arguments: { thought: 'This is decided.' } }] }
    case 'result':
      return { toolCalls: [terminal(`cat ${fileOf(here)}`)] }
    case 'view':
      return { toolCalls: [editor({ command: 'view', path: at(fileOf(here)) })] }
    default:
      return { text: `Step ${step}.`, toolCalls: [editor({ command: 'view', path: at(`ordinary-${step % 8}.txt`) })] }
  }
}

/** Characters of an ordinary file. */
export const ORDINARY = filler(2_000)
export const ORDINARY_FILES = 8
