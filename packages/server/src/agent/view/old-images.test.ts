import type { MessageEvent, ObservationEvent, TreeEvent } from '@parley/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { callEvent, condensationEvent, messageEvent, prompt, resultEvent } from './events.testing.ts'
import { MessageBuilder } from './messages.ts'
import { manipulationIndices } from './view-properties.ts'
import { View } from './view.ts'

const image = (name: string) => ({
  type: 'image' as const,
  image_urls: [`https://example.org/${name}.png`],
  cache_prompt: false,
})

function asking(id: string, name: string | null = null): MessageEvent {
  const event = messageEvent(id, `ask ${id}`)
  if (name !== null) event.llm_message.content.push(image(name))
  return event
}

/** A call whose result has an image; `FileEditorObservation` can be had again, the other cannot. */
function seeing(name: string, kind: 'FileEditorObservation' | 'ClientToolObservation'): TreeEvent[] {
  const call = callEvent(`a${name}`, `r${name}`)
  const result = resultEvent(`o${name}`, call, `seen ${name}`)
  const observation = { ...result.observation, kind, content: [...result.observation.content, image(name)] }
  return [call, { ...result, observation } as ObservationEvent]
}

const viewOf = (events: readonly TreeEvent[]): View => {
  const view = new View()
  for (const event of events) view.append(event)
  return view
}

const sentBy = (view: View): string => JSON.stringify(new MessageBuilder().build(view.events()))
/** Names of the images of a request. */
const namesIn = (view: View): string[] =>
  [...sentBy(view).matchAll(/example\.org\/(\w+)\.png/g)].map(([, name]) => name!)

/** One turn for each name; null: a turn without an image. */
const turns = (names: readonly (string | null)[]): TreeEvent[] =>
  names.flatMap((name, n) => [asking(`m${n}`, name), messageEvent(`b${n}`, 'ok', 'agent')])

test('an image stays for ten turns, and images are replaced together once in ten turns', () => {
  const names = Array.from({ length: 31 }, (_, n) => `i${n + 1}`)
  const view = new View()
  view.append(prompt())
  const oldest: (string | undefined)[] = []
  let changes = 0
  for (const event of turns(names)) {
    const before = view.events()
    view.append(event)
    if (view.events() !== before) changes++
    if (event.kind === 'MessageEvent' && event.source === 'user') oldest.push(namesIn(view)[0])
  }
  const ten = (name: string) => Array.from({ length: 10 }, () => name)
  expect(oldest).toEqual([...ten('i1'), ...ten('i2'), ...ten('i12'), 'i22'])
  expect(changes).toBe(3)
  expect(sentBy(view)).toContain('[An image is left out, because it is old. Ask for it again if you need it.]')
  expect(sentBy(view)).toContain('ask m0')
})

test('a turn of any length keeps its images, and those of results become old as those of messages', () => {
  const long = Array.from({ length: 40 }, (_, n) => seeing(`s${n}`, 'FileEditorObservation')).flat()
  const first = [prompt(), asking('m'), ...long, ...seeing('c', 'ClientToolObservation')]
  expect(namesIn(viewOf(first))).toHaveLength(41)
  const later = viewOf([...first, ...turns(Array.from({ length: 10 }, () => null))])
  expect(namesIn(later)).toEqual([])
  const sent = sentBy(later)
  expect(sent).toContain('[The result of 7 characters and 1 image was left out to make room. Repeat the call')
  // What no call gives again keeps its text.
  expect(sent).toContain('seen c')
})

test('a view with old images is the same after a restart and in a fork, also with condensations', () => {
  const some = fc.array(fc.constantFrom(null, 'message', 'FileEditorObservation', 'ClientToolObservation'), {
    minLength: 8,
    maxLength: 60,
  })
  const cuts = fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat()), { maxLength: 3 })
  fc.assert(
    fc.property(some, cuts, (kinds, places) => {
      const branch: TreeEvent[] = [prompt()]
      let live = viewOf(branch)
      const grow = (event: TreeEvent) => {
        branch.push(event)
        live.append(event)
        const stored = new Map<string, TreeEvent>(branch.map((each) => [each.id, each]))
        const restored = View.restore(
          live.sources().map(({ id }) => stored.get(id)!),
          live,
        )
        expect(restored.events()).toEqual(live.events())
        if (branch.length % 3 === 0) live = restored
      }
      const after = new Map(places.map(([at, ...range], n) => [at % kinds.length, { range, n }]))
      for (const [n, kind] of kinds.entries()) {
        grow(asking(`m${n}`, kind === 'message' ? `i${n}` : null))
        if (kind !== null && kind !== 'message') for (const event of seeing(`s${n}`, kind)) grow(event)
        const cut = after.get(n)
        if (cut === undefined) continue
        const indices = manipulationIndices(live.events())
        const [from, to] = cut.range.map((at) => indices[at % indices.length]!).toSorted((x, y) => x - y)
        grow(condensationEvent(`c${cut.n}`, live.events().slice(from, to), `summary ${cut.n}`, from!))
      }
      expect(View.rebuild(branch).events()).toEqual(live.events())
    }),
    { numRuns: 200 },
  )
})
