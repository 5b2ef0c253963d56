/** The reasoning of a model, folded to its last line. */
import { useState } from 'react'
import { Markdown } from '../text/markdown.tsx'
import { conversation as words } from '../words/conversation.en.ts'

export function Reasoning({ text, isLive = false }: { text: string; isLive?: boolean }) {
  const [isOpen, setOpen] = useState(false)
  const last = text.trimEnd().split('\n').at(-1) ?? ''
  return (
    <div className="reasoning">
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span className="label">{isLive ? words.thinking : words.thought}</span>
        {isOpen ? null : <span className="last">{last}</span>}
      </button>
      {isOpen ? <Markdown text={text} /> : null}
    </div>
  )
}
