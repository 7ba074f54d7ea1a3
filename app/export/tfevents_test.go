package export

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

func sample() []byte {
	b := appendHeader(nil, 1700000000)
	b = appendScalars(b, 1700000000.25, 10, []tagged{{"loss/train", 1.5}, {"theta/bound", 0.1}})
	return appendScalars(b, 1700000001, 1<<40, []tagged{{"loss/train", -0.5}})
}

// records takes a file apart as the guide of TensorFlow describes it.
func records(t *testing.T, file []byte) [][]byte {
	t.Helper()
	sum := func(data []byte) uint32 {
		c := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
		return (c>>15 | c<<17) + 0xa282ead8
	}
	var all [][]byte
	for len(file) > 0 {
		n := int(binary.LittleEndian.Uint64(file))
		if got, want := binary.LittleEndian.Uint32(file[8:]), sum(file[:8]); got != want {
			t.Fatalf("record %d: checksum of the length %08x, want %08x", len(all), got, want)
		}
		data := file[12 : 12+n]
		if got, want := binary.LittleEndian.Uint32(file[12+n:]), sum(data); got != want {
			t.Fatalf("record %d: checksum of the data %08x, want %08x", len(all), got, want)
		}
		all = append(all, data)
		file = file[16+n:]
	}
	return all
}

// The first bytes are those of every event file of TensorFlow: a length of 24, its masked checksum and the tag of the
// time. The record ends with the tag of the version and its text.
func TestTheHeaderIsThatOfTensorFlow(t *testing.T) {
	file := appendHeader(nil, 1)
	if got, want := hex.EncodeToString(file[:13]), "1800000000000000a37f4b2209"; got != want {
		t.Errorf("file begins with %s, want %s", got, want)
	}
	if text := file[12+9 : 12+24]; string(text) != "\x1a\x0dbrain.Event:2" {
		t.Errorf("version %q", text)
	}
}

// schema is testdata/event.proto as the library of Protocol Buffers takes it.
const schema = `name: "event.proto" package: "tensorflow" syntax: "proto3"
message_type { name: "Event"
  field { name: "wall_time" number: 1 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "step" number: 2 type: TYPE_INT64 label: LABEL_OPTIONAL }
  field { name: "file_version" number: 3 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "summary" number: 5 type: TYPE_MESSAGE type_name: ".tensorflow.Summary" label: LABEL_OPTIONAL } }
message_type { name: "Summary"
  field { name: "value" number: 1 type: TYPE_MESSAGE type_name: ".tensorflow.Value" label: LABEL_REPEATED } }
message_type { name: "Value"
  field { name: "tag" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "simple_value" number: 2 type: TYPE_FLOAT label: LABEL_OPTIONAL } }`

func event(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	file := new(descriptorpb.FileDescriptorProto)
	if err := prototext.Unmarshal([]byte(schema), file); err != nil {
		t.Fatal(err)
	}
	of, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return of.Messages().ByName("Event")
}

// wanted are the events of sample as the text format of Protocol Buffers.
var wanted = []string{
	`wall_time:1.7e+09 file_version:"brain.Event:2"`,
	`wall_time:1.70000000025e+09 step:10 ` +
		`summary:{value:{tag:"loss/train" simple_value:1.5} value:{tag:"theta/bound" simple_value:0.1}}`,
	`wall_time:1.700000001e+09 step:1099511627776 summary:{value:{tag:"loss/train" simple_value:-0.5}}`,
}

// The library of Protocol Buffers, which knows only the schema, reads every event and finds no field that it does not
// know.
func TestProtocolBuffersReadsTheEvents(t *testing.T) {
	all := records(t, sample())
	if len(all) != len(wanted) {
		t.Fatalf("%d records, want %d", len(all), len(wanted))
	}
	of := event(t)
	for i, data := range all {
		want, got := dynamicpb.NewMessage(of), dynamicpb.NewMessage(of)
		if err := prototext.Unmarshal([]byte(wanted[i]), want); err != nil {
			t.Fatal(err)
		}
		if err := proto.Unmarshal(data, got); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(got, want) || len(got.GetUnknown()) > 0 {
			t.Errorf("event %d is %v, want %s", i, got, wanted[i])
		}
	}
}

// The compiler of Protocol Buffers, where there is one, reads the events with the published schema.
func TestProtocReadsTheEvents(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("no protoc: apt install protobuf-compiler")
	}
	for i, data := range records(t, sample()) {
		cmd := exec.CommandContext(t.Context(), protoc, "--decode=tensorflow.Event", "-Itestdata", "testdata/event.proto")
		cmd.Stdin = bytes.NewReader(data)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		plain := func(text string) string {
			return strings.NewReplacer(" ", "", "\n", "", ":{", "{").Replace(text)
		}
		want := strings.NewReplacer("1.7e+09", "1700000000", "1.70000000025e+09", "1700000000.25",
			"1.700000001e+09", "1700000001").Replace(wanted[i])
		if plain(string(out)) != plain(want) {
			t.Errorf("event %d is\n%s\nwant %s", i, out, want)
		}
	}
}
