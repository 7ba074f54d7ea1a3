package export

// An event file of TensorBoard is a sequence of TFRecords: the length as uint64, its checksum, the data, the checksum
// of the data, all little-endian. The data are messages Event of Protocol Buffers. Source: "TFRecord and
// tf.train.Example" in the guide of TensorFlow (format of the file, masked CRC32C), and
// tensorflow/core/util/event.proto and tensorflow/core/framework/summary.proto (numbers of the fields).

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of the fields in event.proto and summary.proto.
const (
	eventWallTime    = 1 // double, seconds since 1970
	eventStep        = 2 // int64
	eventFileVersion = 3 // string
	eventSummary     = 5 // Summary
	summaryValue     = 1 // repeated Value
	valueTag         = 1 // string
	valueSimple      = 2 // float
)

// version is what the first event of a file says. From version 2 on, readers accept steps in any order.
const version = "brain.Event:2"

// A tagged is a value of a curve.
type tagged struct {
	Tag   string // name of the curve
	Value float64
}

// appendHeader appends the first record of a file, made at wall seconds since 1970.
func appendHeader(b []byte, wall float64) []byte {
	event := appendWall(nil, wall)
	event = protowire.AppendTag(event, eventFileVersion, protowire.BytesType)
	return appendRecord(b, protowire.AppendString(event, version))
}

// appendScalars appends the record of one step. The format holds values in single precision.
func appendScalars(b []byte, wall float64, step int64, scalars []tagged) []byte {
	var summary, value []byte
	for _, s := range scalars {
		value = protowire.AppendTag(value[:0], valueTag, protowire.BytesType)
		value = protowire.AppendString(value, s.Tag)
		value = protowire.AppendTag(value, valueSimple, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(s.Value)))
		summary = protowire.AppendTag(summary, summaryValue, protowire.BytesType)
		summary = protowire.AppendBytes(summary, value)
	}
	event := appendWall(nil, wall)
	event = protowire.AppendTag(event, eventStep, protowire.VarintType)
	event = protowire.AppendVarint(event, uint64(step))
	event = protowire.AppendTag(event, eventSummary, protowire.BytesType)
	return appendRecord(b, protowire.AppendBytes(event, summary))
}

func appendWall(b []byte, wall float64) []byte {
	b = protowire.AppendTag(b, eventWallTime, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, math.Float64bits(wall))
}

func appendRecord(b, data []byte) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	b = append(b, length...)
	b = binary.LittleEndian.AppendUint32(b, masked(length))
	b = append(b, data...)
	return binary.LittleEndian.AppendUint32(b, masked(data))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns the checksum in the form of the file: rotated, and with a constant added.
func masked(data []byte) uint32 {
	const delta = 0xa282ead8
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + delta
}
