/** A text with its hidden characters visible, and with underlined ranges. */
import { memo, useMemo } from 'react'
import { conversation as words } from '../words/conversation.en.ts'
import { hintsOf, visibleText } from './visible-text.ts'

type Span = readonly [from: number, to: number]

/** `spans`: ranges of `text` to underline, which may overlap. */
export const Visible = memo(function Visible({ text, spans = [] }: { text: string; spans?: readonly Span[] }) {
  const parts = useMemo(() => partsOf(text, spans), [text, spans])
  return (
    <>
      {parts.map((part, index) => (
        <Pieces key={index} text={part.text} isMarked={part.isMarked} />
      ))}
    </>
  )
})

function Pieces({ text, isMarked }: { text: string; isMarked: boolean }) {
  const pieces = visibleText(text).map((piece, index) =>
    piece.hint === '' ? (
      piece.text
    ) : (
      <span key={index} className="special" title={piece.hint}>
        {piece.text}
        <span className="hidden-text"> ({piece.hint}) </span>
      </span>
    ),
  )
  return isMarked ? <mark>{pieces}</mark> : <>{pieces}</>
}

/** Says how many characters are special; nothing when none is. */
export function HiddenCharacters({ text }: { text: string }) {
  const count = useMemo(() => hintsOf(visibleText(text)), [text])
  return count === 0 ? null : <p className="warning">{words.specialCharacters(count)}</p>
}

/** Cuts a text at the borders of all spans. */
function partsOf(text: string, spans: readonly Span[]): { text: string; isMarked: boolean }[] {
  const borders = [...new Set([0, text.length, ...spans.flat()])].filter((at) => at >= 0 && at <= text.length)
  borders.sort((a, b) => a - b)
  return borders.slice(1).map((to, index) => {
    const from = borders[index] ?? 0
    return { text: text.slice(from, to), isMarked: spans.some(([start, end]) => start <= from && to <= end) }
  })
}
