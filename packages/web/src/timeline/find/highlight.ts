/** Marks the sought text in the rows that are mounted, without a change of their elements. */
import { useEffect } from 'react'

const NAME = 'find'
/** Marks at a time. */
const MOST = 500

/** Browsers without the interface show the hits unmarked. */
export function useHighlight(text: string): void {
  useEffect(() => {
    const list = document.querySelector('.timeline-size')
    if (text === '' || list === null || !('highlights' in CSS)) return
    let frame = 0
    const mark = () => CSS.highlights.set(NAME, new Highlight(...rangesIn(list, text.toLowerCase())))
    const observer = new MutationObserver(() => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(mark)
    })
    mark()
    observer.observe(list, { childList: true, subtree: true, characterData: true })
    return () => {
      observer.disconnect()
      cancelAnimationFrame(frame)
      CSS.highlights.delete(NAME)
    }
  }, [text])
}

function rangesIn(list: Element, sought: string): Range[] {
  const ranges: Range[] = []
  const texts = document.createTreeWalker(list, NodeFilter.SHOW_TEXT)
  for (let node = texts.nextNode(); node !== null && ranges.length < MOST; node = texts.nextNode()) {
    const text = (node.nodeValue ?? '').toLowerCase()
    for (let at = text.indexOf(sought); at !== -1 && ranges.length < MOST; at = text.indexOf(sought, at + 1)) {
      const range = new Range()
      // The lower case of a few letters is longer than the letter.
      if (at + sought.length > (node.nodeValue ?? '').length) break
      range.setStart(node, at)
      range.setEnd(node, at + sought.length)
      ranges.push(range)
    }
  }
  return ranges
}
