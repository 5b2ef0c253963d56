import { expect, test } from 'vitest'
import { linesOf, pairsOf } from './patch.ts'

const PATCH = `diff --git a/a b/a
index 1..2 100644
--- a/a
+++ b/a
@@ -3,4 +3,5 @@ heading
 three
-four
--- five
+FOUR
++++ five
+more
 six
\\ No newline at end of file
`
const short = (patch: string) => linesOf(patch).map(({ kind, text, before, after }) => [kind, text, before, after])

test('the lines of a patch have their numbers, and lines that begin like a header are lines', () => {
  expect(short(PATCH)).toEqual([
    ['gap', 'heading', null, null],
    ['same', 'three', 3, 3],
    ['removed', 'four', 4, null],
    ['removed', '-- five', 5, null],
    ['added', 'FOUR', null, 4],
    ['added', '+++ five', null, 5],
    ['added', 'more', null, 6],
    ['same', 'six', 6, 7],
  ])
})

test('the gap before a hunk has the number of lines that are left out', () => {
  expect(linesOf(PATCH)[0]?.count).toBe(2)
  expect(linesOf('@@ -0,0 +1,1 @@\n+one\n').map(({ kind }) => kind)).toEqual(['added'])
  expect(linesOf('@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n')[2]).toMatchObject({ kind: 'gap', count: 7 })
})

test('removed lines stand beside the added ones that follow them', () => {
  const pairs = pairsOf(linesOf(PATCH)).map(({ left, right }) => [left?.text ?? null, right?.text ?? null])
  expect(pairs).toEqual([
    ['heading', 'heading'],
    ['three', 'three'],
    ['four', 'FOUR'],
    ['-- five', '+++ five'],
    [null, 'more'],
    ['six', 'six'],
  ])
})
