/** Images that vendors refuse, in front of a server that refuses as they do: no request has one, and model and person see why. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { start, starting } from '../../packages/server/testing/conversations.ts'
import { bmpOf, dataUrl, jpegOf, LFS_POINTER, pngOf, pngPadding } from '../../packages/server/testing/images.ts'
import { FORMAT_NAMES, llmRecord } from '../../packages/server/testing/model-formats/configs.ts'
import { startRunning } from '../../packages/server/testing/restartable-server.ts'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'

/** A small picture in a file of 5 MiB: 6,990,280 characters of base64. */
const SMALL = { width: 40, height: 30 }
const HEAVY = pngOf(SMALL, pngPadding(5_242_710 - pngOf(SMALL).length - 12))
const BMP = bmpOf(SMALL)
const VENDOR_CHARS = 5_242_880

/** Strings of a body that are, or end with, at least eighty characters of base64. */
function imagesIn(node: unknown): string[] {
  if (typeof node === 'string') {
    const data = node.slice(node.lastIndexOf(',') + 1)
    return data.length >= 80 && !/[^A-Za-z0-9+/=]/.test(data) ? [data] : []
  }
  return typeof node === 'object' && node !== null ? Object.values(node).flatMap(imagesIn) : []
}

/** Plays a conversation with the images in the message, and in files that the agent views. */
async function talk(format: (typeof FORMAT_NAMES)[number]) {
  await using server = await startTestServer()
  const work = server.dir.file('work')
  mkdirSync(work)
  const file = (name: string, bytes: Uint8Array) => {
    writeFileSync(join(work, name), bytes)
    return join(work, name)
  }
  const view = (path: string): ScriptedAnswer => ({
    toolCalls: [{ name: 'file_editor', arguments: { command: 'view', path } }],
  })
  const answers = [
    view(file('pointer.png', LFS_POINTER)),
    view(file('bitmap.bmp', BMP)),
    view(file('heavy.png', HEAVY)),
    { text: 'Done.' },
    { text: 'Bye.' },
  ]
  await using model = await startScriptedModel({ answers })
  const content = [
    { type: 'text', text: 'Look.' },
    {
      type: 'image',
      image_urls: [dataUrl('image/png', LFS_POINTER), dataUrl('image/bmp', BMP), dataUrl('image/jpeg', HEAVY)],
    },
  ]
  const members = { agent: { llm: llmRecord(format, model.url), tools: [{ name: 'file_editor' }] } }
  const task = await start(server, starting(model, work, { ...members, initial_message: { content } }))
  await task.is('finished', 'error')
  await task.say('And now?')
  await task.is('finished', 'error')
  return { requests: model.requests, violations: model.violations, events: await task.events(), answers }
}

test('the heavy image has the size of the one that made conversations unusable', () => {
  expect(HEAVY.toString('base64')).toHaveLength(6_990_280)
})

test.each(FORMAT_NAMES)(
  'in the format %s no request has an image that the vendor refuses, and the run ends well',
  async (format) => {
    const { requests, violations, events, answers } = await talk(format)
    expect(violations).toEqual([])
    expect(requests).toHaveLength(answers.length)
    const images = requests.map(({ body }) => imagesIn(body))
    // That of the message, then also that of the file; the same bytes in every request.
    expect(images.map(({ length }) => length)).toEqual([1, 1, 1, 2, 2])
    const forms = new Set(images.flat())
    expect(forms.size).toBe(1)
    expect([...forms].every(({ length }) => length <= VENDOR_CHARS)).toBe(true)
    for (const { text } of requests) {
      expect(text).toContain('[An image is left out: It is a pointer of Git LFS')
      expect(text).toContain('[An image is left out: It is a BMP image, which models cannot see.')
    }
    // The person sees both reasons, and the log has what was sent.
    const notes = events.filter(({ kind }) => kind === 'ConversationErrorEvent')
    expect(notes.map(({ code, detail }) => [code, detail])).toEqual([
      [
        'LLMPartLeftOut',
        expect.stringMatching(/^A group of 2 images .*git lfs pull.*Send a PNG, JPEG, GIF or WebP\.$/),
      ],
    ])
    expect(JSON.stringify(events.find(({ source }) => source === 'user'))).toContain(HEAVY.toString('base64'))
    const seen = events.filter(({ kind }) => kind === 'ObservationEvent').map(({ observation }) => observation)
    expect(seen.map(({ is_error, content }) => [is_error, content[0].text])).toEqual([
      [true, expect.stringMatching(/pointer\.png is a pointer of Git LFS.*`git lfs pull`/)],
      [true, expect.stringMatching(/bitmap\.bmp is a BMP image.*`convert '.*bitmap\.bmp' '.*bitmap\.png'`/)],
      [false, expect.stringMatching(/^The image .*heavy\.png:$/)],
    ])
  },
  60_000,
)

test('a large image has the same form in every request, also after a kill of the bundled server', async () => {
  await using server = await startRunning(() => ({ text: 'Done.' }), {}, 'process')
  const id = await server.start({ agent: { kind: 'Agent', llm: llmRecord('anthropic', server.model.url), tools: [] } })
  const photo = dataUrl('image/jpeg', jpegOf({ width: 2600, height: 400, hasNoise: true }))
  const content = [{ type: 'image', image_urls: [photo] }]
  await server.call('POST', `/api/conversations/${id}/events`, { role: 'user', content, run: true })
  await server.until(id, 'finished')
  await server.kill()
  await server.say(id, 'and now?')
  await server.until(id, 'finished')
  // A request for a title has no image.
  const sent = server.model.requests.map(({ body }) => imagesIn(body)).filter(({ length }) => length > 0)
  expect(sent.map(({ length }) => length)).toEqual([1, 1])
  const [[before], [after]] = sent as [[string], [string]]
  expect(after === before).toBe(true)
  expect(photo.includes(before)).toBe(false)
}, 60_000)
