/** Images: what their bytes say, what vendors accept, and how they are made smaller. */
import type { MutatedFile } from '../mutant.ts'

const at = (name: string) => `packages/server/src/llm/images/${name}`
const view = (name: string) => `packages/server/src/agent/view/${name}`
const headers = at('image-headers.test.ts')

export const images: readonly MutatedFile[] = [
  {
    file: at('file-facts.ts'),
    tests: [headers],
    mutants: [
      { before: 'found === null || ', after: '' },
      { before: ' || found.width === 0', after: '' },
      { before: "['lfs-pointer', ", after: "['text', " },
      { before: "['bmp', /^BM[^]{4}\\0{4}/]", after: "['bmp', /^BM/]" },
      { before: '!hasControls && ', after: '' },
    ],
  },
  {
    file: at('image-headers.ts'),
    tests: [headers],
    mutants: [
      { before: 'if (head.length < 8) return false', after: '' },
      { before: 'if (at > source.length) return false', after: '' },
      { before: "if (head.toString('latin1', 4, 8) === 'IEND') return true", after: '' },
      { before: '64 + length / 1024', after: 'Infinity' },
      { before: 'if (head.length < 13) return null', after: '' },
      { before: 'if (head.length < 30) return null', after: '' },
      { before: 'source.length >= head.readUInt32LE(4) + 8', after: 'true' },
      { before: 'if (head.length < 4 || ', after: 'if (' },
      { before: 'marker === 0xd9 || ', after: '' },
      { before: ' || length < 2', after: '' },
      { before: ' && head.length === 9', after: '' },
      { before: '?? orientation', after: '?? 1' },
      { before: "if (segment.toString('latin1', 0, 6) !== 'Exif\\0\\0') return null", after: '' },
      { before: 'value >= 1 && value <= 8 ? value : null', after: 'value' },
      { before: 'at + 2 > tiff.length ? 0 : ', after: '' },
      { before: 'at + 4 > tiff.length ? 0 : ', after: '' },
    ],
  },
  {
    file: at('byte-source.ts'),
    tests: [headers],
    mutants: [
      { before: 'from < start || ', after: '' },
      { before: ' || end > start + block.length', after: '' },
      { before: 'text.length % 4 === 0 && ', after: '' },
    ],
  },
  {
    file: at('fit-images.ts'),
    tests: [at('fit-images.test.ts')],
    mutants: [
      { before: '!isKnown || side > SENT_SIDE', after: 'side > SENT_SIDE' },
      { before: 'side > SENT_SIDE || ', after: '' },
      { before: "if (!isKnown) return { kind: 'refused', refusal: notTaken(facts) }", after: '' },
      { before: 'if (side > most || ', after: 'if (' },
      { before: 'count > limits.side.above', after: 'count >= limits.side.above' },
      { before: 'imageMark(given[at]!.url)', after: "imageMark('')" },
      { before: '  expectNoneRefused(fitted, images(given))\n', after: '' },
      { before: '  expectFew(sizes, limits)\n', after: '' },
      { before: 'count / 2, requestChars / 2', after: 'count, requestChars' },
      { before: "if (content.kind === 'refused') return content", after: '' },
      {
        before: "return { kind: 'sent', url: urlOf(content, image.url) }",
        after: "return { kind: 'sent', url: image.url }",
      },
    ],
  },
  {
    file: at('shrinker.ts'),
    tests: [at('shrinker.test.ts')],
    mutants: [
      { before: 'facts.width * facts.height > MAX_PIXELS || ', after: '' },
      { before: 'const known = this.#kept.get(key)', after: 'const known = undefined' },
      { before: '  closing.throwIfAborted()\n', after: '' },
      {
        before: 'this.#last = result.catch(() => undefined)',
        after: '',
        survives: { reason: 'cost', why: 'images are decoded at the same time, which needs more memory' },
      },
    ],
  },
  {
    file: at('shrink-worker.ts'),
    tests: [at('shrinker.test.ts')],
    mutants: [
      { before: 'if (factor >= 1) return image', after: '' },
      { before: ', orientation)\n', after: ', 1)\n' },
      { before: 'exact !== null && exact.length <= bytes', after: 'exact !== null' },
      { before: "if (error instanceof Error && error.name === 'RuntimeError') return null", after: '' },
      { before: "type === 'image/jpeg' ? null : ", after: '' },
    ],
  },
  {
    file: view('old-images.ts'),
    tests: [view('old-images.test.ts')],
    mutants: [
      { before: 'isTurn && this.#turn % KEPT_TURNS === 1', after: 'isTurn' },
      { before: "event.kind === 'MessageEvent' && event.source === 'user'", after: "event.kind === 'MessageEvent'" },
      { before: 'this.#turn - KEPT_TURNS)', after: 'this.#turn)' },
      { before: 'turn <= newest', after: 'turn < newest' },
    ],
  },
]
