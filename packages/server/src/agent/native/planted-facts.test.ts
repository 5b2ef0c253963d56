/** Facts that a long run plants and three condensations must not lose, where the summaries keep what their requests show. */
import { writeFile } from 'node:fs/promises'
import type { Draft } from '@parley/protocol'
import { expect, test } from 'vitest'
import { asksForSummary } from '../../../testing/scripted-model.ts'
import { recordFacts } from '../../../../../test/facts.ts'
import { notice } from '../drafts.ts'
import {
  answerOf,
  FACTS,
  fileOf,
  ORDINARY,
  ORDINARY_FILES,
  planted,
  type Fact,
  type Place,
} from './planted-facts.testing.ts'
import { openTestAgent } from './native-agent.testing.ts'

const STEPS = 300
const PLACES: readonly Place[] = ['person', 'tasks', 'arguments', 'decision', 'result', 'view']
/** The defaults of the server. */
const LIMITS = { keepTokens: 40_000, leastTokens: 20_000 }

const shownIn = (text: string) => FACTS.filter((fact) => text.includes(fact.text))
const textsOf = (facts: readonly Fact[]) => facts.map(({ text }) => text)
const percent = (part: number, whole: number) => Math.round((100 * part) / whole)

/** The facts that a request contains; those of earlier steps had been planted. */
type Look = { step: number; kept: ReadonlySet<string> }

/** Plays the run; returns what the view has after each condensation, and at the end. */
async function play(condenserLlm: object) {
  let step = 0
  let at = (name: string) => name
  await using agent = await openTestAgent([], {
    condenser: {},
    condenserLlm,
    limits: LIMITS,
    agent: { tools: [{ name: 'terminal' }, { name: 'file_editor' }, { name: 'task_tracker' }] },
    respond: ({ text, view }) =>
      asksForSummary(view) ? { text: `# Findings\n${textsOf(shownIn(text)).join('\n')}` } : answerOf(step, at),
  })
  at = agent.at
  for (const fact of FACTS) await writeFile(at(fileOf(fact)), planted(fact))
  for (let n = 0; n < ORDINARY_FILES; n++) await writeFile(at(`ordinary-${n}.txt`), ORDINARY)
  const after: Look[] = []
  const look = (text: string) => after.push({ step, kept: new Set(textsOf(shownIn(text))) })
  let condensations = 0
  for (step = 1; step <= STEPS; step++) {
    const said = FACTS.find((fact) => fact.place === 'person' && fact.step === step)
    if (said !== undefined) agent.driver.commit([{ ...notice(planted(said)), source: 'user' } as Draft])
    await agent.think()
    if (agent.driver.state.open_actions.length === 0) await agent.think()
    await agent.execute()
    if (agent.driver.of('Condensation').length > condensations) {
      condensations++
      look(agent.model.requests.at(-1)!.text)
    }
  }
  look(agent.model.requests.at(-1)!.text)
  const asked = agent.model.requests.filter(({ view }) => asksForSummary(view))
  return { after, condensations, violations: agent.model.violations, tools: asked.map(({ view }) => view.tools.length) }
}

test.each<[form: string, condenserLlm: object]>([
  ['prefix', {}],
  ['record', { model: 'openai/other' }],
])(
  'over 300 steps and three condensations in the form %s, no fact of a person or the task list is lost',
  async (form, llm) => {
    const { after, condensations, violations, tools } = await play(llm)
    expect(violations).toEqual([])
    expect(condensations).toBeGreaterThanOrEqual(3)
    expect(tools.every((count) => count > 0 === (form === 'prefix'))).toBe(true)
    const lostIn = ({ step, kept }: Look, places: readonly Place[]) =>
      FACTS.filter((fact) => fact.step < step && places.includes(fact.place) && !kept.has(fact.text))
    for (const each of after) expect(lostIn(each, ['person', 'tasks'])).toEqual([])
    const end = after.at(-1)!
    const shares = PLACES.map((place): [string, number] => {
      const all = FACTS.filter((fact) => fact.place === place)
      return [`${place}_percent`, percent(all.length - lostIn(end, [place]).length, all.length)]
    })
    const afterEach = after.slice(0, -1).map((each, n): [string, number] => {
      const known = FACTS.filter((fact) => fact.step < each.step).length
      return [`after_${n + 1}_percent`, percent(known - lostIn(each, PLACES).length, known)]
    })
    recordFacts(`planted_facts_${form}`, {
      facts: FACTS.length,
      condensations,
      kept_percent: percent(FACTS.length - lostIn(end, PLACES).length, FACTS.length),
      ...Object.fromEntries([...afterEach, ...shares]),
    })
  },
  120_000,
)
