/** Condensation: the form of a request for a summary, its record, and what is given back. */
import type { MutatedFile } from '../mutant.ts'

const at = (name: string) => `packages/server/src/agent/${name}`
const OVER_PREFIX = [at('native/summary-over-prefix.test.ts')]
const SUMMARIZING = [at('condenser/llm-summarizing.test.ts')]

export const condensation: readonly MutatedFile[] = [
  {
    file: at('condenser/shared-prefix.ts'),
    tests: OVER_PREFIX,
    mutants: [
      { before: 'if (next === null) return null', after: '', tests: SUMMARIZING },
      {
        before: 'instruction.length / CHARS_PER_TOKEN > next.limit) return null',
        after: 'instruction.length < 0) return null',
      },
      { before: 'featuresOf(next.llm).forgetsReasoning && ', after: '' },
      { before: '&& hasReasoningInTurn(request.messages)) return null', after: '&& false) return null' },
      {
        before: 'messages: withUserText(request.messages, instruction)',
        after: 'messages: withUserText([], instruction)',
      },
      { before: '{ ...request, messages', after: '{ tools: [], messages' },
      { before: 'answer.toolCalls.length > 0 || ', after: '' },
      { before: ' || writtenCall !== null) return null', after: ') return null' },
      { before: "return text === '' ? null : text", after: 'return text' },
      { before: "  if (answer.finishReason !== 'stop' && ", after: '  if (false && ' },
      { before: '!REPEATED.has(code)', after: 'true' },
      { before: '!REPEATED.has(code)', after: 'false' },
    ],
  },
  {
    file: at('condenser/llm-summarizing.ts'),
    tests: OVER_PREFIX,
    mutants: [
      { before: ' && isSameModel(this.#config.llm, ofAgent.llm)', after: '' },
      { before: '      next = null\n', after: '' },
      { before: 'maxChars = record.length * scaling', after: 'maxChars = record.length', tests: SUMMARIZING },
      { before: 'attempt >= tries', after: 'attempt >= 99', tests: SUMMARIZING },
      { before: '    spent.push(usage(answer, answer.responseId, this.#llm))\n', after: '' },
      {
        before: '...(given === undefined ? {} : { given_back: given }),',
        after: '',
        tests: ['test/run/given-back.test.ts'],
      },
    ],
  },
  {
    file: at('native/condense.ts'),
    tests: OVER_PREFIX,
    mutants: [{ before: 'isRequested ? null : requestFor', after: 'requestFor' }],
  },
  {
    file: at('same-model.ts'),
    tests: OVER_PREFIX,
    mutants: [{ before: "{ ...a, usage_id: '', stream: false }", after: 'a' }],
  },
  {
    file: at('condenser/plan.ts'),
    tests: SUMMARIZING,
    mutants: [
      { before: 'whole - INSTRUCTION_TOKENS', after: 'whole' },
      { before: ' || INSTRUCTION_TOKENS > whole / 10', after: '' },
    ],
  },
  {
    file: at('condenser/record-text.ts'),
    tests: [at('condenser/record-text.test.ts')],
    mutants: [
      { before: 'isLasting ? lasting : other', after: 'other' },
      { before: 'Math.max(room * LASTING_SHARE, room - sum(lengths(false)))', after: 'room * LASTING_SHARE' },
      { before: 'Math.max(room * LASTING_SHARE, room - sum(lengths(false)))', after: 'room - sum(lengths(false))' },
      { before: "event.kind === 'CondensationSummaryEvent' || isOfPerson(event)", after: 'isOfPerson(event)' },
    ],
  },
  {
    file: at('condenser/given-back.ts'),
    tests: [at('condenser/given-back.test.ts')],
    mutants: [
      { before: ' && index >= start', after: '' },
      { before: 'tasks = event.given_back?.tasks ?? tasks', after: '' },
      { before: 'event.given_back?.files.toReversed()', after: 'event.given_back?.files' },
      { before: 'isKept || observation.task_list.length === 0', after: 'observation.task_list.length === 0' },
      { before: ' && !observation.is_error', after: '' },
      { before: 'Math.floor(maxChars * TASK_SHARE)', after: 'maxChars' },
      { before: "(isKept && kind === 'viewed' && text !== null)", after: 'false' },
      { before: "isKept && kind === 'viewed' && text !== null", after: 'isKept' },
      { before: 'else if (!isKept) this.use(path, text)', after: 'else if (true) this.use(path, text)' },
      { before: '    this.#texts.delete(path)\n    this.#texts.set', after: '    this.#texts.set' },
      { before: 'index < MAX_FILES.shown && ', after: '' },
      { before: 'known.length <= room || room >= LEAST_FILE_CHARS', after: 'true' },
      { before: 'left -= text?.length ?? 0', after: '' },
      { before: '.slice(0, MAX_FILES.named)', after: '' },
      { before: 'if (left - file[0].length < maxChars / 2) break', after: '' },
      { before: 'if (observation.is_error) return []', after: '' },
      { before: "command === 'undo_edit' && !prev_exist", after: 'false' },
      { before: "if (isWithoutContent(event)) return [{ path, kind: 'viewed', text: null }]", after: '' },
      {
        before: "showsText(path, text) ? [{ path, kind: 'viewed', text }] : []",
        after: "[{ path, kind: 'viewed', text }]",
      },
      { before: "if (type === 'delete') return [{ path, kind: 'removed', text: null }]", after: '' },
    ],
  },
  {
    file: at('view/given-back-text.ts'),
    tests: [at('condenser/given-back.test.ts')],
    mutants: [{ before: ".replaceAll(END_OF_FILE, '')", after: '' }],
  },
  {
    file: 'packages/protocol/src/wire-event.ts',
    tests: ['packages/protocol/src/wire-event.test.ts'],
    mutants: [{ before: " && !('given_back' in event)", after: '' }],
  },
]
