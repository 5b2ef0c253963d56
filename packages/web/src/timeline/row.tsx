/** One row of the timeline by its type. */
import { lazy, memo, Suspense } from 'react'
import type { Item } from './items.ts'
import { MessageRow, PendingRow } from './message.tsx'
import { StreamingRow, WorkingRow } from './streaming.tsx'
import { ToolRow } from './tool-row.tsx'
import './row.css'

/** Rows that many logs have few of: what shows them is loaded with the first one. */
const OtherRow = lazy(async () => ({ default: (await import('./other-rows.tsx')).OtherRow }))

export const RowContent = memo(function RowContent({ item }: { item: Item }) {
  switch (item.type) {
    case 'pending':
      return <PendingRow message={item.message} />
    case 'streaming':
      return <StreamingRow />
    case 'working':
      return <WorkingRow since={item.since} />
    case 'row':
      return <LoggedRow row={item.row} />
  }
})

function LoggedRow({ row }: { row: Extract<Item, { type: 'row' }>['row'] }) {
  switch (row.type) {
    case 'message':
      return <MessageRow row={row} />
    case 'tool':
      return <ToolRow row={row} />
    default:
      return (
        <Suspense fallback={<div className="row-unloaded" />}>
          <OtherRow row={row} />
        </Suspense>
      )
  }
}
